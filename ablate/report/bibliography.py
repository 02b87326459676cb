"""The papers behind the statistical methods, as a reader cites them and as BibTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One paper."""

    key: str
    "As `\\cite` takes it."
    cited: str
    "As a sentence names it: `Holm 1979`."
    kind: str
    "Of the BibTeX entry: article or inproceedings."
    author: str
    title: str
    "In LaTeX; capitals that stay are in braces."
    where: str
    "Journal or proceedings."
    year: int
    volume: str = ""
    number: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def bibtex(self) -> str:
        """The entry."""
        fields = {
            "author": self.author,
            "title": self.title,
            "journal" if self.kind == "article" else "booktitle": self.where,
            "year": str(self.year),
            "volume": self.volume,
            "number": self.number,
            "pages": self.pages.replace("–", "--"),
            "doi": self.doi,
        }
        lines = [f"  {name:<9} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}", ""])

    @property
    def plain(self) -> str:
        """The entry in a line of text, without the names of all authors."""
        place = f"{self.where} {self.volume}{f'({self.number})' if self.number else ''}".strip()
        pages = f", {self.pages}" if self.pages else ""
        doi = f". doi:{self.doi}" if self.doi else ""
        words = f"{self.cited}. {self.title}. {place}{pages}{doi}"
        return words.replace("{", "").replace("}", "").replace(r"$\times$", "×")


Sentence = Sequence[str | Source]
"Papers follow what they are cited for."

BOUTHILLIER = Source(
    "bouthillier2021accounting",
    "Bouthillier et al. 2021",
    "inproceedings",
    r"Bouthillier, Xavier and Delaunay, Pierre and Bronzi, Mirko and Trofimov, Assya and Nichyporuk, Brennan and "
    r"Szeto, Justin and {Mohammadi Sepahvand}, Nazanin and Raff, Edward and Madan, Kanika and Voleti, Vikram and "
    r"{Ebrahimi Kahou}, Samira and Michalski, Vincent and Arbel, Tal and Pal, Chris and Varoquaux, Ga{\"e}l and "
    r"Vincent, Pascal",
    "Accounting for Variance in Machine Learning Benchmarks",
    "Proceedings of Machine Learning and Systems",
    2021,
    volume="3",
    pages="747–769",
)
HOLM = Source(
    "holm1979simple",
    "Holm 1979",
    "article",
    "Holm, Sture",
    "A Simple Sequentially Rejective Multiple Test Procedure",
    "Scandinavian Journal of Statistics",
    1979,
    volume="6",
    number="2",
    pages="65–70",
)
SCHUIRMANN = Source(
    "schuirmann1987comparison",
    "Schuirmann 1987",
    "article",
    "Schuirmann, Donald J.",
    "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of Average "
    "Bioavailability",
    "Journal of Pharmacokinetics and Biopharmaceutics",
    1987,
    volume="15",
    number="6",
    pages="657–680",
    doi="10.1007/BF01068419",
)
SUISSA = Source(
    "suissa1991matched",
    "Suissa and Shuster 1991",
    "article",
    "Suissa, Samy and Shuster, Jonathan J.",
    r"The 2 $\times$ 2 Matched-Pairs Trial: Exact Unconditional Design and Analysis",
    "Biometrics",
    1991,
    volume="47",
    number="2",
    pages="361–372",
    doi="10.2307/2532131",
)
CLOPPER = Source(
    "clopper1934use",
    "Clopper and Pearson 1934",
    "article",
    "Clopper, C. J. and Pearson, E. S.",
    "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
    "Biometrika",
    1934,
    volume="26",
    number="4",
    pages="404–413",
    doi="10.1093/biomet/26.4.404",
)
CORNFIELD = Source(
    "cornfield1956average",
    "Cornfield and Tukey 1956",
    "article",
    "Cornfield, Jerome and Tukey, John W.",
    "Average Values of Mean Squares in Factorials",
    "The Annals of Mathematical Statistics",
    1956,
    volume="27",
    number="4",
    pages="907–949",
    doi="10.1214/aoms/1177728067",
)
SATTERTHWAITE = Source(
    "satterthwaite1946approximate",
    "Satterthwaite 1946",
    "article",
    "Satterthwaite, F. E.",
    "An Approximate Distribution of Estimates of Variance Components",
    "Biometrics Bulletin",
    1946,
    volume="2",
    number="6",
    pages="110–114",
    doi="10.2307/3002019",
)
NADEAU = Source(
    "nadeau2003inference",
    "Nadeau and Bengio 2003",
    "article",
    "Nadeau, Claude and Bengio, Yoshua",
    "Inference for the Generalization Error",
    "Machine Learning",
    2003,
    volume="52",
    number="3",
    pages="239–281",
    doi="10.1023/A:1024068626366",
)
PITMAN = Source(
    "pitman1939note",
    "Pitman 1939",
    "article",
    "Pitman, E. J. G.",
    "A Note on Normal Correlation",
    "Biometrika",
    1939,
    volume="31",
    number="1/2",
    pages="9–12",
    doi="10.1093/biomet/31.1-2.9",
)
MORGAN = Source(
    "morgan1939test",
    "Morgan 1939",
    "article",
    "Morgan, W. A.",
    "A Test for the Significance of the Difference between the Two Variances in a Sample from a Normal Bivariate "
    "Population",
    "Biometrika",
    1939,
    volume="31",
    number="1/2",
    pages="13–19",
    doi="10.1093/biomet/31.1-2.13",
)
WORTSMAN = Source(
    "wortsman2023small",
    "Wortsman et al. 2023",
    "article",
    "Wortsman, Mitchell and Liu, Peter J. and Xiao, Lechao and Everett, Katie and Alemi, Alex and Adlam, Ben and "
    "Co-Reyes, John D. and Gur, Izzeddin and Kumar, Abhishek and Novak, Roman and Pennington, Jeffrey and "
    "Sohl-Dickstein, Jascha and Xu, Kelvin and Lee, Jaehoon and Gilmer, Justin and Kornblith, Simon",
    "Small-Scale Proxies for Large-Scale {T}ransformer Training Instabilities",
    "arXiv preprint arXiv:2309.14322",
    2023,
    doi="10.48550/arXiv.2309.14322",
)
OPTUNA = Source(
    "akiba2019optuna",
    "Akiba et al. 2019",
    "inproceedings",
    "Akiba, Takuya and Sano, Shotaro and Yanase, Toshihiko and Ohta, Takeru and Koyama, Masanori",
    "Optuna: A Next-Generation Hyperparameter Optimization Framework",
    "Proceedings of the 25th {ACM} {SIGKDD} International Conference on Knowledge Discovery and Data Mining",
    2019,
    pages="2623–2631",
    doi="10.1145/3292500.3330701",
)

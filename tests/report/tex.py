"""Tables of LaTeX as a reader takes them in."""

import re

COMMAND = re.compile(r"\\(begin|end)\{([a-z*]+)\}")


def rows(content):
    """The cells of the rows of a tabular, which is checked to be whole."""
    opened = []
    for kind, name in COMMAND.findall(content):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    bare = re.sub(r"\\[{}]", "", content)
    depth = [bare[:i].count("{") - bare[:i].count("}") for i in range(len(bare) + 1)]
    assert min(depth) == depth[-1] == 0
    found = [line.removesuffix(r" \\") for line in content.splitlines() if line.endswith(r" \\")]
    return [re.split(r"(?<!\\)&", line) for line in found]

import pytest

from ablate.base.passwords import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://me:secret@host:5432/x", "postgresql://me:…@host:5432/x"),
        ("redis://:secret@host/0", "redis://:…@host/0"),
        ("https://me:p@ss@host/x", "https://me:…@host/x"),
        ("mysql://me:p/a?s#s@host/x", "mysql://me:…@host/x"),
        ("https://ghp_0123456789abcdefghij@host/x", "https://…@host/x"),
        ("pg://h/x?user=me&password=a%20b&sslmode=on", "pg://h/x?user=me&password=…&sslmode=on"),
        ("postgresql:///x?sslpassword=a;b=c", "postgresql:///x?sslpassword=…;b=c"),
        (
            "h://h?ACCESS_TOKEN=a&api-key=b&apikey=c#token=d",
            "h://h?ACCESS_TOKEN=…&api-key=…&apikey=…#token=…",
        ),
        ("h://h?client_secret=a&X-Amz-Signature=b&sig=c", "h://h?client_secret=…&X-Amz-Signature=…&sig=…"),
        ("MLflow (a://h?token=t) is down", "MLflow (a://h?token=…) is down"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dsecret", "mssql+pyodbc:///?odbc_connect=…"),
        (
            "--set 's={storage: \"a://u:p@h?token=t\", n: 3}'",
            "--set 's={storage: \"a://u:…@h?token=…\", n: 3}'",
        ),
        ("two: a://u:p@h and b://u:q@h", "two: a://u:…@h and b://u:…@h"),
    ],
)
def test_secrets_of_urls_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected
    assert masked(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("sqlite:///a/b.db", "sqlite:///file:a.db?mode=rw&uri=true", "journal:x.log", "http://["),
        *("http://127.0.0.1:5000/#/experiments?workflowType=machine_learning", "postgresql://me@host/x"),
        *("--set model.token_mixing=0.1 --set task.pass=3", "12:30 me@example.org"),
    ],
)
def test_other_text_stays(text: str) -> None:
    assert masked(text) == text

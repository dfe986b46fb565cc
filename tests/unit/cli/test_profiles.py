"""A profile is a name for a target; what lets somebody ask in its name is read by nobody else."""

import pytest

from asked_clinic import COUNT, declared
from dpsql import BadParameter
from dpsql.cli.profiles import chosen_profile, profiles
from dpsql.errors import NotPermitted
from tests.kits.refusals import raised


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Writes the file of profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "dpsql").mkdir()

    def write(text, mode=0o644):
        path = tmp_path / "dpsql" / "profiles.toml"
        path.write_text(text)
        path.chmod(mode)
        return path.parent

    return write


def test_a_profile_is_asked_by_its_name(home, command):
    folder = home('[clinic]\ntarget = "dpsql.toml"\nuser = "ana"\n')
    declared(folder)
    assert "cost 1.00" in command(["clinic", "-c", COUNT]).err


def test_profiles_are_listed_without_their_tokens(home, command):
    home('[a]\ntarget = "unix:/run/door"\ntoken = "secret"\n[b]\ntarget = "demo"\ntoken_file = "b.token"\n', 0o600)
    told = command(["config"])
    assert "secret" not in told.out + told.err
    assert [line.split("\t")[:2] for line in told.out.splitlines()] == [["a", "unix:/run/door"], ["b", "demo"]]
    assert "profiles.toml" in told.err


def test_no_profiles_are_no_error(tmp_path, monkeypatch, command):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "not there yet" in command(["config"]).err


def test_a_token_that_others_may_read_is_refused(home):
    folder = home('[a]\ntarget = "unix:/run/door"\ntoken = "secret"\n')
    assert "chmod 600" in raised(NotPermitted, lambda: profiles(), match="others may read").fix
    home('[a]\ntarget = "unix:/run/door"\ntoken_file = "t"\n')
    (folder / "t").write_text("secret\n")
    (folder / "t").chmod(0o640)
    raised(NotPermitted, lambda: chosen_profile("a", []).read_token(), match="others may read")
    (folder / "t").chmod(0o600)
    assert chosen_profile("a", []).read_token() == "secret"
    (folder / "t").unlink()
    raised(BadParameter, lambda: chosen_profile("a", []).read_token(), match="cannot be read")


@pytest.mark.parametrize(
    "text",
    ["not toml", "a = 1", "[a]\nuser = 'x'\n", "[a]\ntarget = 1\n", "[a]\ntarget = 'demo'\nunheard = 'x'\n", "\udcff"],
)
def test_what_is_no_profile_is_code_2(home, command, text):
    home("").joinpath("profiles.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "profiles.toml" in command(["a", "-c", COUNT], 2).err


@pytest.mark.parametrize("word", ["x.toml", "unix:door", "demo", "https://dp.example.org", "./x"])
def test_what_is_a_target_is_no_profile(home, word):
    home(f'["{word}"]\ntarget = "demo"\n')
    assert chosen_profile(word, []).target == word


@pytest.mark.parametrize(
    "line", ['target = "~nobody-is-called-so/dpsql.toml"', 'target = "demo"\ntoken_file = "~nobody-is-called-so/t"']
)
def test_the_folder_of_nobody_is_told(home, line):
    home(f"[a]\n{line}\n")
    raised(BadParameter, lambda: profiles(), match="'~nobody-is-called-so' has no folder here")


@pytest.mark.parametrize(
    "said", ["SELECT COUNT(*) FROM people", "select 1/2", "EXPLAIN PRIVACY SELECT 1", " WITH x AS (…"]
)
def test_a_question_without_c_is_told_where_it_belongs(said):
    error = raised(BadParameter, lambda: chosen_profile(said, []))
    assert error.fix == f"dpsql -c '{said}'"

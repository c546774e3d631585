from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evaluation.models import LanguageModel, ModelAlias
from ingest import config as module
from ingest.config import EMPTY, LARGEST, Config, ConfigError, ModelFacts, Stated, load
from tests.ingest.trees import ingest, small_tree

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "ingest" / "clinboard.schema.json").read_text(encoding="utf-8"))

FULL = """\
models:
  "Aster 3 Large": {aliases: [aster_3_large, aster-3-large], organisation: Asterion, access: proprietary}
  Boreal:
leave_out:
  - {path: "ehr_bench/agentic/full1800/broken_model/**", why: "server was misconfigured"}
  - path: "**/tmp/*"
    why: scratch
wins:
  - {path: "mm_bench/agentic/full2703/x/merged_unique.jsonl", why: "the other lacks a shard"}
expected:
  ehr-bench: {full1800: 1800}
  liveclin: {2025: 7}
runs:
  - {path: "liveclin/*", repeat: 2, shots: 0, conversation_kept: true, decoding: "temperature 0"}
  - path: "liveclin/aster*"
    snapshot: 2026-09-02
    judge: boreal-judge
    harness_commit: abc123
    cost_usd: 12.5
    model: Aster 3 Large
    origin: ours
    image_mode: url
    decoding: greedy
"""

Load = Callable[..., Config]


@pytest.fixture
def read(tmp_path: Path) -> Load:
    def read(text: str | bytes) -> Config:
        path = tmp_path / "clinboard.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(path)

    return read


@pytest.fixture
def wrong(read: Load) -> Callable[..., list[tuple[int, str, str]]]:
    def wrong(text: str | bytes) -> list[tuple[int, str, str]]:
        with pytest.raises(ConfigError) as caught:
            read(text)
        assert len(str(caught.value).splitlines()) == len(caught.value.problems)
        return caught.value.problems

    return wrong


# What a valid file says


def test_models_with_facts_aliases_and_line(read):
    assert read(FULL).models == (
        ModelFacts(
            "Aster 3 Large",
            ("aster_3_large", "aster-3-large"),
            {"organisation": "Asterion", "access": "proprietary"},
            2,
        ),
        ModelFacts("Boreal", (), {}, 3),
    )


def test_path_and_sha256_are_those_of_the_file(read, tmp_path):
    config = read(FULL)
    assert config.path == str(tmp_path / "clinboard.yaml")
    assert config.sha256 == hashlib.sha256(FULL.encode()).hexdigest()


def test_left_out_says_why_and_where(read):
    config = read(FULL)
    assert config.left_out("ehr_bench/agentic/full1800/broken_model/results.jsonl") == ("server was misconfigured", 5)
    assert config.left_out("tmp/results.jsonl") == ("scratch", 6)
    assert config.left_out("ehr_bench/agentic/full1800/sound_model/results.jsonl") is None


def test_wins_says_why_and_where(read):
    config = read(FULL)
    assert config.wins("mm_bench/agentic/full2703/x/merged_unique.jsonl") == ("the other lacks a shard", 9)
    assert config.wins("mm_bench/agentic/full2703/x/results.jsonl") is None


def test_of_several_reasons_the_first_counts(read):
    config = read('leave_out: [{path: "a*", why: one}, {path: "ab*", why: two}]')
    assert config.left_out("abc") == ("one", 1)
    assert config.unused() == []


def test_expected_by_benchmark_and_split_keys_as_written(read):
    config = read(FULL)
    assert config.expected("ehr-bench", "full1800") == 1800
    assert config.expected("liveclin", "2025") == 7
    assert config.expected("ehr-bench", "smoke20") is None
    assert config.expected("mm-bench", "full2703") is None


def test_stated_later_entries_override_field_by_field_and_keep_their_lines(read):
    stated = read(FULL).stated("liveclin/aster_run2.json")
    protocol = {
        "decoding": "greedy",
        "snapshot": "2026-09-02",
        "judge": "boreal-judge",
        "harness_commit": "abc123",
        "cost_usd": 12.5,
        "image_mode": "url",
    }
    assert stated == Stated(2, 0, True, "Aster 3 Large", "ours", protocol, stated.lines)
    assert stated.lines == {
        **dict.fromkeys(("repeat", "shots", "conversation_kept"), 14),
        "snapshot": 16,
        "judge": 17,
        "harness_commit": 18,
        "cost_usd": 19,
        "model": 20,
        "origin": 21,
        "image_mode": 22,
        "decoding": 23,
    }


def test_what_nobody_states_is_none(read):
    assert read(FULL).stated("ehr_bench/x/results.jsonl") == Stated(None, None, None, None, None, {}, {})


def test_stating_does_not_change_the_config(read):
    config = read(FULL)
    config.stated("liveclin/aster").protocol.clear()
    assert config.stated("liveclin/aster").protocol["decoding"] == "greedy"


def test_shots_zero_and_conversation_not_kept_are_stated(read):
    stated = read('runs: [{path: "*", shots: 0, conversation_kept: false}]').stated("a")
    assert (stated.shots, stated.conversation_kept) == (0, False)


def test_a_cost_may_be_whole(read):
    assert read('runs: [{path: "*", cost_usd: 0}]').stated("a").protocol == {"cost_usd": 0}


def test_unused_names_the_globs_that_fitted_nothing_asked(read):
    config = read(FULL)
    assert [line for line, _ in config.unused()] == [5, 6, 9, 14, 15]
    config.stated("liveclin/boreal.json")
    config.left_out("x/tmp/y")
    config.wins("nothing")
    assert config.unused() == [
        (5, "leave_out: 'ehr_bench/agentic/full1800/broken_model/**' fits no file"),
        (9, "wins: 'mm_bench/agentic/full2703/x/merged_unique.jsonl' fits no file"),
        (15, "runs: 'liveclin/aster*' fits no file"),
    ]


def test_config_is_frozen(read):
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(FULL).path = "other"


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "---\n", "{}", "models:\nleave_out:\nwins:\nexpected:\nruns:\n"]
)
def test_an_empty_file_or_section_says_nothing(read, text):
    config = read(text)
    assert (config.models, config.unused(), config.stated("a")) == ((), [], Stated())


def test_empty_says_nothing_and_has_no_source():
    assert (EMPTY.path, EMPTY.sha256, EMPTY.models, EMPTY.unused()) == ("", "", (), [])
    assert EMPTY.left_out("a") is EMPTY.wins("a") is EMPTY.expected("a", "b") is None
    assert EMPTY.stated("a") == Stated()


@pytest.mark.parametrize(
    "written", ["2026-09-02", "2026-09-02T10:00:00Z", "yes", "on", "0123456", "12e4567", "1_000", "1:30"]
)
def test_text_that_yaml_would_turn_into_something_else_stays_text(read, written):
    assert read(f'runs: [{{path: "*", snapshot: {written}}}]').stated("a").protocol == {"snapshot": written}


def test_byte_order_mark_and_crlf_are_read_and_lines_still_count(read):
    config = read(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert config.models[0].line == 2
    assert config.stated("liveclin/aster").lines["decoding"] == 23


def test_a_model_may_repeat_its_own_names(read):
    assert read("models: {Aster: {aliases: [Aster, a, a]}}").models[0].aliases == ("Aster", "a")


# Globs


@pytest.mark.parametrize(
    ("glob", "fits", "misses"),
    [
        ("liveclin/aster*", ["liveclin/aster", "liveclin/aster/x/run.json"], ["x/liveclin/aster", "liveclin/Aster"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab", "ax/b"]),
        ("**/b", ["b", "x/b", "x/y/b"], ["xb", "b/x"]),
        ("**/a/**/b", ["a/b", "x/a/b", "a/x/b", "x/a/x/b"], ["xa/b"]),
        ("a/**/**/b", ["a/b", "a/x/b"], ["ab"]),
        ("a?[0-9][!x]", ["ab1y"], ["ab1x", "ab1", "ab1yy"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_glob(read, glob, fits, misses):
    config = read(f'wins: [{{path: "{glob}", why: w}}]')
    assert [path for path in fits + misses if config.wins(path)] == fits


def slow_fit(glob: str, path: str) -> bool:
    """The same rules one sign at a time; `start` is true where a directory's name may begin."""

    @functools.cache
    def fit(g: int, p: int) -> bool:
        if g == len(glob):
            return p == len(path)
        if glob.startswith("**/", g) and (g == 0 or glob[g - 1] == "/"):
            ends = [p] + [end + 1 for end in range(p, len(path)) if path[end] == "/"]
            return any(fit(g + 3, end) for end in ends)
        if glob[g] == "*":
            return any(fit(g + 1, end) for end in range(p, len(path) + 1))
        return p < len(path) and glob[g] in ("?", path[p]) and fit(g + 1, p + 1)

    return fit(0, 0)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "?", "/**/", "**/"]), max_size=8).map("".join),
    st.lists(st.text(alphabet="ab", min_size=1, max_size=2), min_size=1, max_size=4).map("/".join),
)
def test_globs_fit_what_the_plain_reading_fits(glob, path):
    assert bool(module._pattern(glob).match(path)) == slow_fit(glob, path)


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_glob(glob, path):
    module._pattern(glob[:40].replace("**/", "*")).match(path)


def test_a_hostile_glob_is_answered_at_once(read):
    assert read('wins: [{path: "%s", why: w}]' % ("*a" * 450 + "b")).wins("a" * 3000) is None


def test_more_than_five_open_directories_are_refused(wrong):
    assert wrong('wins: [{path: "%s", why: w}]' % ("**/a/" * 6)) == [
        (1, "wins[0].path", "has '**/' more than five times")
    ]


# What is wrong, in words


def test_the_message_names_file_line_field_and_value(read):
    with pytest.raises(ConfigError) as caught:
        read("\n\n\n\nruns:\n  - path: x\n    shots: many\n")
    message = "is 'many', expected an integer of at least 0"
    assert caught.value.problems == [(7, "runs[0].shots", message)]
    assert str(caught.value) == f"clinboard.yaml line 7: runs[0].shots {message}"
    assert isinstance(caught.value, ValueError)


def test_all_problems_are_listed_by_line(wrong):
    text = """\
runs:
  - {path: "a", shots: -1, cost_usd: free}
  - {shots: 1}
rnus: []
models:
  A: {aliases: [x]}
  B: {aliases: [x]}
  B: {}
"""
    assert wrong(text) == [
        (2, "runs[0].shots", "is -1, expected an integer of at least 0"),
        (2, "runs[0].cost_usd", "is 'free', expected a number of at least 0"),
        (3, "runs[1]", "has no 'path'"),
        (4, "rnus", "is not a known key; did you mean 'runs'?"),
        (7, "models.B.aliases[0]", "is 'x', which is already a name of 'A' (line 6)"),
        (8, "models.B", "is given twice, first in line 7"),
    ]


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("- a", "", "is a list, expected a mapping (key: value)"),
        ("just text", "", "is 'just text', expected a mapping (key: value)"),
        ("models: [a]", "models", "is a list, expected a mapping (key: value)"),
        ("models: {A: {aliases: a}}", "models.A.aliases", "is 'a', expected a list"),
        ("models: {A: {aliases: [a, 3]}}", "models.A.aliases[1]", "is 3, expected text: put it in quotes"),
        ("models: {A: {aliases: [true]}}", "models.A.aliases[0]", "is true, expected text: put it in quotes"),
        ("models: {A: {aliases: [~]}}", "models.A.aliases[0]", "is empty, expected text"),
        ("models: {A: {aliases: [{b: c}]}}", "models.A.aliases[0]", "is a mapping, expected text"),
        ("models: {A: {aliases: ['']}}", "models.A.aliases[0]", "is empty text"),
        (
            "models: {A b: {access: free}}",
            'models."A b".access',
            "is 'free', expected one of 'proprietary', 'open', 'medical'",
        ),
        ("models: {'': {}}", 'models.""', "is empty text"),
        (
            "models: {A: {released_on: 2026-13}}",
            "models.A.released_on",
            "is no day, month or year: YYYY-MM-DD, YYYY-MM or YYYY is expected",
        ),
        ("models: {A: {organisation: %s}}" % ("x" * 201), "models.A.organisation", "is longer than 200 characters"),
        ("leave_out: {path: a}", "leave_out", "is a mapping, expected a list"),
        ("leave_out: [a]", "leave_out[0]", "is 'a', expected a mapping (key: value)"),
        ("leave_out: [{path: a}]", "leave_out[0]", "has no 'why'"),
        ("wins: [{path: a, why: ''}]", "wins[0].why", "is empty text"),
        ("expected: {b: 3}", "expected.b", "is 3, expected a mapping (key: value)"),
        ("expected: {b: {s: 0}}", "expected.b.s", "is 0, expected an integer of at least 1"),
        ("expected: {b: {s: 2.0}}", "expected.b.s", "is 2.0, expected an integer of at least 1"),
        ("expected: {b: {s: true}}", "expected.b.s", "is true, expected an integer of at least 1"),
        ("expected: {b: {s: 9999999999}}", "expected.b.s", "is 9999999999, expected at most 2147483647"),
        ("runs: [{path: a}]", "runs[0]", "says nothing beside its path"),
        ("runs: [{path: a, repeat: 0}]", "runs[0].repeat", "is 0, expected an integer of at least 1"),
        ("runs: [{path: a, shots: ~}]", "runs[0].shots", "is empty, expected an integer of at least 0"),
        ("runs: [{path: a, conversation_kept: yes}]", "runs[0].conversation_kept", "is 'yes', expected true or false"),
        ("runs: [{path: a, origin: theirs}]", "runs[0].origin", "is 'theirs', expected one of 'ours', 'uploaded'"),
        ("runs: [{path: a, cost_usd: .nan}]", "runs[0].cost_usd", "is '.nan', expected a number of at least 0"),
        ("runs: [{path: a, harness_commit: 123}]", "runs[0].harness_commit", "is 123, expected text: put it in quotes"),
        ("runs: [{path: a, judge: [b]}]", "runs[0].judge", "is a list, expected text"),
        ("runs: [{path: a, snapshto: b}]", "runs[0].snapshto", "is not a known key; did you mean 'snapshot'?"),
        ("zzz: 1", "zzz", "is not a known key; known keys are models, leave_out, wins, expected, runs"),
        ('models: {A: {organisation: "\\0"}}', "models.A.organisation", "holds the character U+0000, which is no text"),
        ('models: {"\\ud800": {}}', 'models."\\ud800"', "holds the character U+D800, which is no text"),
        ("expected: {b: {[s]: 1}}", "expected.b", "has a list or mapping as a key, expected text"),
    ],
)
def test_one_problem_in_words(wrong, text, field, message):
    problems = wrong(text)
    assert (1, field, message) in problems
    assert all(place.startswith(field) for _, place, _ in problems)


def test_a_long_value_is_cut(wrong):
    [(_, _, message)] = wrong("runs: [{path: a, shots: %s}]" % ("x" * 5000))
    assert len(message) < 120


def test_an_alias_may_not_be_another_models_friendly_name(wrong):
    text = "models:\n  A: {aliases: [B]}\n  B:\n"
    assert wrong(text) == [(2, "models.A.aliases[0]", "is 'B', which is already a name of 'B' (line 3)")]


def test_names_are_exact_so_case_makes_two_names(read):
    assert len(read("models: {A: {aliases: [x]}, a: {aliases: [X]}}").models) == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("models:\n  A: [\n", 3, "is not YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not YAML"),
        ("models: {}\n---\nruns: []\n", 2, "found another document"),
        ("models: {}\nruns: \x01\n", 2, "character U+0001 is not allowed"),
        ('models:\n  "\\UFFFFFFFF": {}\n', 2, "too large"),
        ("%YAML " + "9" * 5000 + ".1\n--- {}\n", 1, "too large"),
        ("models:\n  A: &a {}\n  B: *a\n", 2, "anchors and aliases (& and *) are not allowed"),
        ("models:\n  B: *a\n", 2, "anchors and aliases (& and *) are not allowed"),
        ("wins:\n- {path: **/x, why: y}\n", 2, "put text that starts with & or * in quotes"),
        ("models:\n  A: !!python/object:os.system {}\n", 2, "tags (!) are not allowed"),
        ("models:\n  A: !!timestamp 2026-09-02\n", 2, "tags (!) are not allowed"),
        ("models:\n  A: " + "[" * 50_000, 2, "is nested deeper than 32 levels"),
        (b"models: {}\nruns: \xff\n", 2, "is not UTF-8: byte 0xff"),
        (b"\xef\xbb\xbfmodels: {}\nruns: \xc3", 2, "is not UTF-8: byte 0xc3"),
        ("models: {}\n".encode("utf-16"), 1, "is not UTF-8"),
        (b"#" * (LARGEST + 1), 0, "is larger than 1 MB"),
    ],
)
def test_what_is_no_yaml_of_ours_is_refused_with_its_line(wrong, text, line, message):
    [(found, field, told)] = wrong(text)
    assert (found, field) == (line, "")
    assert message in told


def test_a_file_of_just_1_mb_is_read(read):
    assert read(b"#" * LARGEST).models == ()


def test_a_file_that_cannot_be_read_says_so_without_its_directory(tmp_path):
    with pytest.raises(ConfigError, match=r"\Aclinboard\.yaml: cannot be read: No such file") as caught:
        load(tmp_path / "clinboard.yaml")
    assert caught.value.problems[0][0] == 0
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load("a\0b")


# Whatever is written


def only_config_error(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    try:
        config = load(path)
    except ConfigError as error:
        lines = data.count(b"\n") + data.count(b"\r") + data.count("\x85".encode()) + data.count(b"\xe2\x80") + 1
        assert error.problems
        assert all(0 <= line <= lines + 1 and message for line, _, message in error.problems)
        str(error).encode()
    else:
        assert isinstance(config, Config)
        config.stated("a")
        config.unused()


ANY = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = (
    sorted(set(re.findall(r"\w+", FULL)))
    + list("{}[]:,-?&*!|>'\"%@`#~\n\t \\")
    + ["\n  ", "\n- ", ": ", "<<: ", "\\ud800"]
)


@ANY
@given(st.text())
def test_arbitrary_text_raises_nothing_but_config_error(tmp_path, text):
    only_config_error(text.encode("utf-8", "surrogatepass"), tmp_path / "clinboard.yaml")


@ANY
@given(st.binary())
def test_arbitrary_bytes_raise_nothing_but_config_error(tmp_path, data):
    only_config_error(data, tmp_path / "clinboard.yaml")


@ANY
@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_arbitrary_yaml_signs_raise_nothing_but_config_error(tmp_path, text):
    only_config_error(text.encode(), tmp_path / "clinboard.yaml")


@ANY
@given(st.data())
def test_a_valid_file_damaged_anywhere_raises_nothing_but_config_error(tmp_path, data):
    start = data.draw(st.integers(0, len(FULL)))
    end = data.draw(st.integers(start, min(len(FULL), start + 20)))
    text = FULL[:start] + data.draw(st.text(max_size=5)) + FULL[end:]
    only_config_error(text.encode("utf-8", "surrogatepass"), tmp_path / "clinboard.yaml")


KEYS = st.sampled_from(["models", "leave_out", "wins", "expected", "runs", "path", "why", "aliases", "shots", "A"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@ANY
@given(st.dictionaries(KEYS, JSON, max_size=5))
def test_any_structure_raises_nothing_but_config_error(tmp_path, data):
    only_config_error(json.dumps(data).encode(), tmp_path / "clinboard.yaml")


NAMES = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=20)
PROTOCOL = {
    "repeat": st.integers(1, 2**31 - 1),
    "shots": st.integers(0, 32767),
    "conversation_kept": st.booleans(),
    "model": NAMES,
    "origin": st.sampled_from(["ours", "uploaded"]),
    "decoding": NAMES,
    "cost_usd": st.integers(0, 10**6) | st.decimals(0, 1000, places=2).map(float),
}


@ANY
@given(st.fixed_dictionaries({}, optional=PROTOCOL).filter(bool))
def test_what_is_stated_comes_back_as_it_was(tmp_path, said):
    path = tmp_path / "clinboard.yaml"
    path.write_text(json.dumps({"runs": [{"path": "*", **said}]}, ensure_ascii=False, indent=1), encoding="utf-8")
    stated = load(path).stated("a/b")
    own = {name: getattr(stated, name) for name in ("repeat", "shots", "conversation_kept", "model", "origin")}
    assert {name: value for name, value in {**own, **stated.protocol}.items() if value is not None} == said
    assert stated.lines.keys() == said.keys()


# The schema and the docs


def test_the_schema_is_a_valid_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_own_fields_and_protocol_cover_the_schemas_keys():
    keys = SCHEMA["properties"]["runs"]["items"]["properties"].keys()
    own = {field.name for field in dataclasses.fields(Stated)} - {"protocol", "lines"}
    assert own == set(module._OWN_FIELDS)
    assert keys - own == {"path", "decoding", "snapshot", "judge", "harness_commit", "cost_usd", "image_mode"}


DOCS = (ROOT / "docs" / "clinboard-yaml.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL))
def test_the_examples_of_the_docs_are_valid(read, example):
    read(example)


def test_the_docs_name_every_key():
    properties = SCHEMA["properties"]
    keys = {*properties, *properties["runs"]["items"]["properties"], "why"}
    keys |= properties["models"]["additionalProperties"]["properties"].keys()
    assert [key for key in sorted(keys) if key not in DOCS] == []


@pytest.mark.parametrize("sample", re.findall(r"^\| `(?!path)\w+` \|.*\| `(\w+: .*)` \|$", DOCS, re.MULTILINE))
def test_the_samples_of_the_docs_table_are_valid(read, sample):
    assert read(f"runs:\n- path: a\n  {sample}\n").stated("a").lines.values()


@pytest.mark.django_db
def test_facts_of_models_fill_what_is_empty(tmp_path: Path) -> None:
    tree = small_tree(tmp_path, "aster_3")
    LanguageModel.objects.create(slug="old", name="Aster 2", family="as staff says")
    ModelAlias.objects.create(model=LanguageModel.objects.get(slug="old"), name="Aster 2")
    facts = "family: Aster, size: 70B, released_on: 2026-08, knowledge_cutoff: '2025', predecessor: Aster 2"
    tree.text("clinboard.yaml", f"models: {{Aster 3: {{aliases: [aster_3], {facts}}}, Aster 2: {{family: Aster}}}}\n")
    ingest(tree, "--gold", tree.root / "gold")
    model = LanguageModel.objects.get(name="Aster 3")
    assert (model.family, model.size, model.released_on, model.knowledge_cutoff) == ("Aster", "70B", "2026-08", "2025")
    assert model.predecessor is not None and model.predecessor.name == "Aster 2"
    assert model.predecessor.family == "as staff says"

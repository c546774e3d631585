"""The tables of what is measured: benchmarks and their items, models, runs, evaluations and scores.

Row identity is a hash of content (`Run.key`); paths, names and times are attributes. Facts (Response, ItemScore, Score,
Vector) are written in bulk by `evaluation.facts` and read by their run or evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse
from django.utils import timezone

from evaluation.protocols.base import Outcome
from evaluation.querysets import (
    AliasQuerySet,
    EvaluationQuerySet,
    HumanRatingQuerySet,
    ModelQuerySet,
    RunQuerySet,
    ScoreQuerySet,
    item_gate,
)

if TYPE_CHECKING:
    from evaluation.querysets import Person


class Benchmark(models.Model):
    """A benchmark, as its module in `evaluation.benchmarks` declares it."""

    class Access(models.TextChoices):
        NOBODY = "nobody", "nobody"
        GROUP = "group", "its data-access group"
        MEMBERS = "members", "signed-in people"
        PUBLIC = "public", "everybody"

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=200, blank=True)
    attribution = models.CharField(max_length=300, blank=True)
    order = models.PositiveSmallIntegerField(default=0)
    item_access = models.CharField(
        max_length=10, choices=Access, default=Access.GROUP, help_text="Who may see items and answers."
    )
    data_group = models.ForeignKey(
        Group, on_delete=models.SET_NULL, null=True, blank=True, help_text="The group that may see items and answers."
    )

    class Meta:
        ordering = ["order", "slug"]

    def __str__(self):
        return self.name

    def items_visible_to(self, user: Person) -> bool:
        """Whether `user` may see items, gold and verdicts on single answers. The staff flag alone does not open them."""
        if self.item_access in (self.Access.PUBLIC, self.Access.NOBODY):
            return self.item_access == self.Access.PUBLIC  # no question to the database
        return type(self).objects.filter(item_gate(user), pk=self.pk).exists()


class Release(models.Model):
    """A release fixes the items and their gold."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="releases")
    name = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64, blank=True, help_text="sha256 over its splits' items and gold.")

    class Meta:
        ordering = ["benchmark", "name"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "name"], name="release_name")]

    def __str__(self):
        return f"{self.benchmark} {self.name}"


class Split(models.Model):
    """A named subset of a release with its number of expected items."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="splits")
    name = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64, blank=True, help_text="sha256 over its items and gold, in order.")
    expected_items = models.PositiveIntegerField(default=0)
    rankable = models.BooleanField(default=True)
    gold_missing = models.BooleanField(default=False, help_text="Its items come from scored files, not from gold.")
    labels_fingerprint = models.CharField(
        max_length=64, blank=True, help_text="sha256 over the labels of its items; empty: none."
    )
    gold_counts = models.JSONField(
        default=dict, blank=True, help_text="What was counted in the gold file beside its items, when it was last read."
    )
    items: models.ManyToManyField = models.ManyToManyField("Item", through="SplitItem", related_name="splits")

    class Meta:
        ordering = ["release", "name"]
        constraints = [models.UniqueConstraint(fields=["release", "name"], name="split_name")]

    def __str__(self):
        return f"{self.release} {self.name}"


class Item(models.Model):
    """One scored question. `case` groups the items of a clinical case; `cluster` is the unit that is resampled."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=300)
    case = models.CharField(max_length=300, blank=True)
    cluster = models.CharField(max_length=300, blank=True)
    gold = models.JSONField(null=True)
    scored = models.BooleanField(default=True, help_text="False: in no denominator (MM-Bench rows with empty gold).")
    facets: models.ManyToManyField = models.ManyToManyField("Facet", related_name="items")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "key"], name="item_key")]

    def __str__(self):
        return self.key


class SplitItem(models.Model):
    """An item's place in a split: `position` is the canonical order of every vector."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE)
    item = models.ForeignKey(Item, on_delete=models.CASCADE)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["split", "item"], name="split_item"),
            models.UniqueConstraint(fields=["split", "position"], name="split_position"),
        ]

    def __str__(self):
        return f"{self.split_id}:{self.position}"


class Labelling(models.Model):
    """A dimension that a lab added to the items of a release: which labels files said so last."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="labellings")
    dimension = models.CharField(max_length=60)
    files = models.JSONField(default=list, help_text="[name, sha256] of each file.")
    fingerprint = models.CharField(max_length=64, help_text="sha256 over its items and facets.")

    class Meta:
        ordering = ["release", "dimension"]
        constraints = [models.UniqueConstraint(fields=["release", "dimension"], name="labelling_dimension")]

    def __str__(self):
        return f"{self.dimension} of {self.release}"


class Facet(models.Model):
    """One value of a dimension in a release: `icd_chapter` / `Chapter 2: Neoplasms`."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="facets")
    dimension = models.CharField(max_length=60)
    name = models.CharField(max_length=500)
    labelling = models.ForeignKey(
        Labelling, on_delete=models.CASCADE, null=True, related_name="facets", help_text="Empty: from the gold."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "dimension", "name"], name="facet_name")]

    def __str__(self):
        return f"{self.dimension}: {self.name}"


DAY = RegexValidator(r"\A[12]\d{3}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?\Z", "YYYY, YYYY-MM or YYYY-MM-DD")
DAY_HELP = "YYYY, YYYY-MM or YYYY-MM-DD, as exactly as it is known; empty: not stated."


def is_later(day: str, other: str) -> bool | None:
    """Whether one day or month lies after another, both as exactly as they are known; None where that cannot be told."""
    shared = min(len(day), len(other))
    if not shared or (day[:shared] == other[:shared] and len(day) != len(other)):
        return None
    return day[:shared] > other[:shared]


class LanguageModel(models.Model):
    """A language model. One slug, any number of exact aliases; unknown names become models that are not registered."""

    class Access(models.TextChoices):
        PROPRIETARY = "proprietary", "proprietary"
        OPEN = "open", "open"
        MEDICAL = "medical", "medical"
        UNKNOWN = "", "not stated"

    slug = models.SlugField(max_length=120, unique=True, allow_unicode=True)
    name = models.CharField(max_length=500)
    organisation = models.CharField(max_length=200, blank=True)
    access = models.CharField(max_length=20, choices=Access, blank=True, default=Access.UNKNOWN)
    family = models.CharField(max_length=100, blank=True, help_text="Models of one line: `Qwen3`.")
    size = models.CharField(max_length=60, blank=True, help_text="Parameters as its maker gives them: `235B-A22B`.")
    released_on = models.CharField(max_length=10, blank=True, validators=[DAY], help_text=DAY_HELP)
    knowledge_cutoff = models.CharField(max_length=10, blank=True, validators=[DAY], help_text=DAY_HELP)
    predecessor = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="successors",
        help_text="The one before it.",
    )
    registered = models.BooleanField(default=False, help_text="Known by name; else made from a name found in a tree.")

    objects = ModelQuerySet.as_manager()

    class Meta:
        ordering = ["name", "slug"]

    def __str__(self):
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("model", args=[self.slug])


class ModelAlias(models.Model):
    """An exact name of a model: compared byte for byte, never folded."""

    class Kind(models.TextChoices):
        NAME = "name", "friendly name"
        DIRECTORY = "directory", "directory name"
        TAG = "tag", "raw tag"
        PROVIDER = "provider", "provider id"

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="aliases")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.NAME)
    name = models.CharField(max_length=500, unique=True)

    objects = AliasQuerySet.as_manager()

    class Meta:
        ordering = ["kind", "name"]
        verbose_name_plural = "model aliases"

    def __str__(self):
        return self.name


class ModelMerge(models.Model):
    """`source` was found to be `target`: what moved, so that it can move back. A merged model is shown nowhere."""

    source = models.OneToOneField(LanguageModel, on_delete=models.PROTECT, related_name="merge")
    target = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="merges")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    why = models.TextField(blank=True)
    made_at = models.DateTimeField(default=timezone.now)
    moved = models.JSONField(default=dict, help_text="Keys of the rows that moved, by table and field.")

    class Meta:
        ordering = ["-made_at"]

    def __str__(self):
        return f"{self.source} is {self.target}"


class Run(models.Model):
    """One model's answers to one split under one protocol, over one or more repeats."""

    class Visibility(models.TextChoices):
        PRIVATE = "private", "private"
        TEAM = "team", "team"
        PUBLIC = "public", "public"

    class State(models.TextChoices):
        LIVE = "live", "live"
        SUPERSEDED = "superseded", "superseded"
        ARCHIVED = "archived", "archived"

    class Origin(models.TextChoices):
        UPLOADED = "uploaded", "responses uploaded"
        OURS = "ours", "run by us"

    key = models.CharField(max_length=16, unique=True, help_text="Hash of what was read: the run's public id.")
    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="runs")
    mode = models.CharField(max_length=40)
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="runs")
    model_name = models.CharField(max_length=500, help_text="The name as the tree gives it (canonical directory name).")
    repeats = models.JSONField(default=list, help_text="The run indexes that its rows carry.")
    shots = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Empty: not stated.")
    conversation_kept = models.BooleanField(null=True, blank=True, help_text="Empty: not stated.")
    protocol = models.JSONField(default=dict, blank=True, help_text="Decoding, snapshot, judge, harness, cost ...")
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.OURS)
    state = models.CharField(max_length=10, choices=State, default=State.LIVE)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PRIVATE)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True)
    team = models.ForeignKey(Group, on_delete=models.SET_NULL, null=True, blank=True)
    answered_at = models.DateTimeField(
        null=True, blank=True, help_text="When the answers were finished, as far as stated."
    )
    loaded_at = models.DateTimeField(default=timezone.now)
    why = models.TextField(blank=True, help_text="Why this file was selected.")
    stated = models.JSONField(
        default=dict, blank=True, help_text="What a clinboard.yaml says of it: its name, sha256, and value and line."
    )
    counts = models.JSONField(default=dict)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["split", "mode", "state"])]

    def __str__(self):
        return f"{self.model_name} on {self.split} ({self.mode})"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.key])

    @property
    def protocol_text(self) -> str:
        """Shots and conversation in words, as they stand in the comparability key."""
        return protocol_text(self.shots, self.conversation_kept)


def protocol_text(shots: int | None, conversation_kept: bool | None) -> str:
    """`zero-shot, conversation kept`; what is unknown is `not stated` and never guessed."""
    parts = []
    if shots is not None:
        parts.append("zero-shot" if shots == 0 else f"{shots}-shot")
    if conversation_kept is not None:
        parts.append("conversation kept" if conversation_kept else "questions asked one by one")
    return ", ".join(parts) or "not stated"


class ResultFile(models.Model):
    """A file that a run was read from: where it lay and what was found in it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="files")
    ordinal = models.PositiveSmallIntegerField(default=0)
    path = models.TextField(help_text="Logical path, relative to the source's root.")
    physical = models.TextField(help_text="Real path, relative to the root; ../ when outside.")
    chain = models.JSONField(default=list, help_text="Every link followed: [path, target as written].")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    modified_at = models.DateTimeField(null=True)
    repeats = models.JSONField(default=list)
    counts = models.JSONField(default=dict)

    class Meta:
        ordering = ["run", "ordinal"]
        constraints = [models.UniqueConstraint(fields=["run", "ordinal"], name="run_file")]

    def __str__(self):
        return self.path


class Response(models.Model):
    """What the model gave for one item, by its place in a file. The text itself stays in the file."""

    pk = models.CompositePrimaryKey("run_id", "ordinal")
    # the primary key begins with it; a second index would cost more than the row
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="responses", db_index=False)
    ordinal = models.PositiveIntegerField(help_text="Order of reading, from 0.")
    item = models.ForeignKey(Item, on_delete=models.SET_NULL, null=True, related_name="responses")
    item_key = models.TextField(blank=True, help_text="The id as written, where the gold does not know it.")
    repeat = models.PositiveIntegerField()
    file = models.ForeignKey(ResultFile, on_delete=models.CASCADE, db_index=False)
    line = models.PositiveIntegerField(help_text="1-based; 0 in a JSON document.")
    offset = models.BigIntegerField(help_text="Byte offset in the unpacked stream.")
    length = models.BigIntegerField()
    pointer = models.TextField(blank=True, help_text="JSON Pointer in a JSON document.")
    status = models.PositiveSmallIntegerField(choices=[(outcome.value, outcome.name.lower()) for outcome in Outcome])
    recovered = models.BooleanField(default=False)

    def __str__(self):
        return f"{self.run_id}:{self.ordinal}"


class Evaluator(models.Model):
    """A named, versioned rule set, mirrored from the code so that figures keep the rules they were made with."""

    name = models.SlugField(max_length=100)
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="evaluators")
    description = models.TextField()
    fingerprint = models.CharField(max_length=64)
    headline = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "benchmark", "fingerprint"], name="evaluator_version")]

    def __str__(self):
        return self.name


class Evaluation(models.Model):
    """One evaluator applied to one run. Never overwritten: a newer one supersedes it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluations")
    evaluator = models.ForeignKey(Evaluator, on_delete=models.PROTECT, related_name="evaluations")
    gold_fingerprint = models.CharField(max_length=64)
    labels_fingerprint = models.CharField(max_length=64, blank=True)
    made_at = models.DateTimeField(default=timezone.now)
    current = models.BooleanField(default=True)
    instruments = models.JSONField(
        default=dict,
        blank=True,
        help_text="What took part beside the rules: the judge, as stated for the run, the encoder.",
    )
    basis = models.JSONField(
        default=dict, blank=True, help_text="Of stored verdicts: the file they stand in, its sha256, and stale rows."
    )

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "evaluator"], condition=models.Q(current=True), name="one_current_evaluation"
            )
        ]

    def __str__(self):
        return f"{self.evaluator} of {self.run}"


class EncodedText(models.Model):
    """A text's unit vector (little-endian float32) by one encoder; of the text only its sha256 is kept."""

    pk = models.CompositePrimaryKey("encoder", "sha256")
    encoder = models.CharField(max_length=100)
    sha256 = models.BinaryField(max_length=32)
    vector = models.BinaryField()

    def __str__(self):
        return f"{self.encoder}:{bytes(self.sha256).hex()[:12]}"


class Vector(models.Model):
    """Per-item values of an evaluation over the scored items of the split, in canonical order.

    `outcome` holds uint8, everything else little-endian float64 with NaN where there is no row. Repeat 0 is over all repeats;
    an evaluation with one repeat has no other.
    """

    pk = models.CompositePrimaryKey("evaluation_id", "repeat", "name")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="vectors", db_index=False)
    repeat = models.PositiveIntegerField()
    name = models.CharField(max_length=60)
    data = models.BinaryField()

    def __str__(self):
        return f"{self.evaluation_id}:{self.repeat}:{self.name}"


class ItemScore(models.Model):
    """The evaluator's verdict on one response (same run and ordinal)."""

    pk = models.CompositePrimaryKey("evaluation_id", "ordinal")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="item_scores", db_index=False)
    ordinal = models.PositiveIntegerField()
    outcome = models.PositiveSmallIntegerField(choices=[(outcome.value, outcome.name.lower()) for outcome in Outcome])
    value = models.FloatField(null=True, help_text="The headline metric; empty where the gold does not know the item.")
    rule = models.CharField(max_length=60)
    prediction = models.TextField(help_text="What was taken, as JSON with ASCII escapes, cut at 2,000 characters.")

    def __str__(self):
        return f"{self.evaluation_id}:{self.ordinal}"


class Score(models.Model):
    """An aggregate of an evaluation: metric x facet. `repeat` empty is over all repeats; fractions are 0..1."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="scores")
    repeat = models.PositiveIntegerField(null=True)
    metric = models.CharField(max_length=60)
    variant = models.CharField(max_length=40, blank=True)
    dimension = models.CharField(max_length=60)
    facet = models.CharField(max_length=500, blank=True)
    value = models.FloatField(null=True, help_text="Empty when n = 0.")
    n = models.PositiveIntegerField()
    n_answered = models.PositiveIntegerField()
    ci_low = models.FloatField(null=True)
    ci_high = models.FloatField(null=True)

    objects = ScoreQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["evaluation", "dimension", "metric", "variant"])]

    def __str__(self):
        return f"{self.metric} {self.dimension} {self.facet}"


class HumanRating(models.Model):
    """What one person said of one answer of a run (LLMEval-Med's generated texts); item data, seen as such."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="human_ratings")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    rater = models.CharField(max_length=100, help_text="A name or a number, as the file gives it.")
    safety = models.PositiveSmallIntegerField(help_text="0 or 1; the others 0 to 5.")
    instruction_following = models.PositiveSmallIntegerField()
    correctness = models.PositiveSmallIntegerField()
    usefulness = models.PositiveSmallIntegerField()
    readability = models.PositiveSmallIntegerField()
    file = models.CharField(max_length=255, help_text="The name of the file that said so.")
    sha256 = models.CharField(max_length=64)

    objects = HumanRatingQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "item", "rater"], name="one_rating_a_rater")]

    def __str__(self):
        return f"{self.rater} on {self.item_id} of {self.run_id}"

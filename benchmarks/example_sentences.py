"""The sentences of entailment.tsv and intents.tsv, drawn from templates without end."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

NAMES = (
    "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jonas", "Lena", "Max", "Nora", "Paul",
)  # fmt: skip


@dataclass(frozen=True)
class Aspect:
    """What a premise may say of a person, and what a hypothesis may claim about the same.

    said: a claim -> the phrases from which the claim follows; phrases of different claims cannot be true together
    """

    said: dict[str, tuple[str, ...]]

    @property
    def phrases(self) -> list[str]:
        return [phrase for group in self.said.values() for phrase in group]


ASPECTS = {
    "deed": Aspect(
        {
            "is asleep": ("sleeping", "taking a nap"),
            "looks at paper": ("reading a letter", "studying a map"),
            "makes music": ("playing the piano", "singing a song"),
            "has food": ("eating an apple", "having soup"),
        }
    ),
    "company": Aspect(
        {
            "has nobody around": ("alone", "without company"),
            "has somebody around": ("with a friend", "with two neighbours", "beside a cousin"),
        }
    ),
    "place": Aspect(
        {
            "is indoors": ("in the kitchen", "in the office", "in the library"),
            "is outdoors": ("in the garden", "in the park", "on the beach"),
            "is travelling": ("on the train", "on the bus", "on the ferry"),
        }
    ),
    "time": Aspect(
        {
            "is there in the morning": ("at dawn", "at sunrise", "before breakfast"),
            "is there at midday": ("at noon", "at twelve o'clock"),
            "is there in the evening": ("at dusk", "at nightfall", "after dinner"),
        }
    ),
}

#: Deeds that leave open what a person does.
OPEN = ("resting", "waiting", "spending time", "staying", "lingering")


def pairs_of_texts(draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Premise, hypothesis and label. The label does not depend on the hypothesis, which therefore does not tell it."""
    while True:
        name, about = draw.choice(NAMES), draw.choice(list(ASPECTS))
        aspect = ASPECTS[about]
        claim, phrases = draw.choice(list(aspect.said.items()))
        phrase = draw.choice(phrases)
        said = {other: draw.choice(ASPECTS[other].phrases) for other in ASPECTS if draw.random() < 0.5}
        label = draw.choice(("entailment", "contradiction", "neutral"))
        match label:
            case "entailment":
                said[about] = phrase
            case "contradiction":
                said[about] = draw.choice([other for other in aspect.phrases if other not in phrases])
            case _:
                said.pop(about, None)
        yield premise(draw, name, said), f"{name} {claim} .", label


def premise(draw: random.Random, name: str, said: dict[str, str]) -> str:
    """A sentence that says these things of a person, in one of several orders."""
    deed = said.get("deed") or draw.choice(OPEN)
    rest = [said[aspect] for aspect in ("company", "place") if aspect in said]
    draw.shuffle(rest)
    if "time" in said and draw.random() < 0.5:
        return " ".join([said["time"].capitalize(), ",", name, "is", deed, *rest, "."])
    return " ".join([name, "is", deed, *rest, *([said["time"]] if "time" in said else []), "."])


#: Intent -> its commands. A word in braces is a slot, and its name the tag of the words that fill it.
COMMANDS = {
    "play_music": (
        "play {song} by {artist}", "play something by {artist}", "put on {song}", "i want to hear {genre}",
        "play {genre} in the {room}", "can you play {song} please", "some {genre} from {artist} please",
    ),
    "set_alarm": (
        "wake me at {time}", "set an alarm for {time}", "set an alarm for {time} {day}",
        "i have to get up at {time} {day}", "alarm {day} at {time} please", "wake me {day} at {time}",
    ),
    "book_table": (
        "book a table for {people} at {time}", "a table for {people} {day} please",
        "reserve a {cuisine} place in {city}", "find a {cuisine} restaurant in {city} for {people}",
        "we are {people} and want {cuisine} food {day}", "book {restaurant} for {people} {day} at {time}",
    ),
    "get_weather": (
        "will it rain in {city} {day}", "what is the weather in {city}", "how cold is it in {city} at {time}",
        "do i need an umbrella {day}", "weather for {city} {day} please", "is it sunny in {city} {day}",
    ),
    "send_message": (
        "tell {contact} that i am late", "send {contact} a message", "write to {contact} that we meet at {time}",
        "message {contact} that i am in {city} {day}", "let {contact} know i am at {restaurant}",
    ),
    "switch_device": (
        "turn on the {device} in the {room}", "switch off the {device}", "turn the {device} off at {time}",
        "i want the {device} on in the {room}", "please turn off the {device} in the {room} at {time}",
    ),
    "find_route": (
        "how do i get to {destination}", "take me to {destination}", "how far is it from {origin} to {destination}",
        "find a train from {origin} to {destination} {day}", "i want to be in {destination} at {time}",
        "drive to {destination} {day} at {time}",
    ),
}  # fmt: skip

CITIES = (
    "oslo", "rome", "new york", "san marino", "vienna", "cape town", "lima", "kyoto", "porto", "hanoi", "quebec city",
)  # fmt: skip
SLOTS = {
    "song": (
        "silver rain", "home again", "nine doors", "the long river", "midnight", "paper boats", "rome", "monday blues",
    ),
    "artist": ("the blue foxes", "ella north", "two rivers", "max storm", "the kitchen band", "greta"),
    "genre": ("jazz", "folk", "classical music", "slow blues", "rock", "piano music"),
    "room": ("kitchen", "bedroom", "living room", "garden", "guest room", "hall"),
    "device": ("light", "heating", "radio", "coffee machine", "fan", "desk lamp"),
    "day": ("today", "tomorrow", "on monday", "on friday", "next sunday", "this weekend"),
    "cuisine": ("italian", "thai", "greek", "south indian", "french", "korean"),
    "restaurant": ("the old mill", "casa verde", "golden fork", "blue garden", "midnight kitchen"),
    "contact": ("anna", "my brother", "greta", "doctor weber", "max", "the neighbours"),
    "city": CITIES,
    "origin": CITIES,
    "destination": (*CITIES, "the airport", "the old mill", "main station"),
}  # fmt: skip
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def commands(draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Words, their tags and the intent. The same word has several tags: six people, six o'clock, a song called rome."""
    while True:
        intent = draw.choice(list(COMMANDS))
        words, tags = [], []
        for piece in draw.choice(COMMANDS[intent]).split():
            slot = re.fullmatch(r"\{(\w+)\}", piece)
            filled = filling(draw, slot[1]).split() if slot else [piece]
            words += filled
            tags += [f"{'I' if place else 'B'}-{slot[1]}" if slot else "O" for place in range(len(filled))]
        yield " ".join(words), " ".join(tags), intent


def filling(draw: random.Random, slot: str) -> str:
    """The words of a slot."""
    match slot:
        case "time":
            hour = draw.choice(NUMBERS)
            return draw.choice((hour, f"half past {hour}", f"{hour} thirty", f"{hour} in the evening"))
        case "people":
            return draw.choice((number := draw.choice(NUMBERS), f"{number} people"))
        case _:
            return draw.choice(SLOTS[slot])

"""Memorable names for instances, such as `brisk-otter`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

_ADJECTIVES = (
    "able agile alert amber ample apt azure bold brave breezy bright brisk calm candid clear "
    "clever cosy crisp curious dapper daring deft eager early easy fair fine firm fleet fond "
    "frank free fresh gentle glad golden grand green happy hardy hearty honest jolly keen kind "
    "light lively loyal lucid lucky mellow merry mild misty modest neat nimble noble olive "
    "patient placid plain plucky polite proud quick quiet ready rosy round royal sage sharp "
    "shiny silent silver sleek smart smooth snug solid sound spry steady still sturdy sunny "
    "sure swift tidy tranquil true upbeat vivid warm wise witty young zesty"
)

_ANIMALS = (
    "adder albatross alpaca ant auk badger bat bear beaver bee bison bittern boar buzzard camel "
    "carp cat civet cod condor coot coyote crab crane cricket crow curlew deer dingo dolphin "
    "dove duck eagle eel egret elk emu falcon ferret finch fox frog gecko gibbon goat goose "
    "grebe gull hare hawk hedgehog heron horse ibex ibis jackal jay kestrel kite koala lark "
    "lemur linnet lion lizard llama lynx magpie marmot marten mole moose moth mouse newt "
    "nightjar ocelot okapi orca osprey otter owl oyster panda parrot pelican perch petrel pike "
    "plover pony puffin quail rabbit raven robin rook salmon seal shrew skink snail sparrow "
    "squid stoat stork swan tapir tern thrush toad trout tuna turtle viper vole walrus "
    "wasp weasel whale wolf wombat wren yak zebra"
)

# With far more names than live instances, a free one is found almost at once.
_TRIES = 50


def make_name(taken: Container[str]) -> str:
    """Return a two-word name that is not taken; if none is found, a longer name."""
    for _ in range(_TRIES):
        name = f"{random.choice(_ADJECTIVES.split())}-{random.choice(_ANIMALS.split())}"
        if name not in taken:
            return name
    return f"{random.choice(_ADJECTIVES.split())}-{make_name(())}-{random.randrange(1000)}"

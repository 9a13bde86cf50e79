"""Made-up vectors of skills, and questions near them; the same in every run."""

import numpy

DIMS = 384
SEED = 7
CENTRES = 256
SPREAD = 0.6


def unit(rows):
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def made_up(count, queries):
    """Rows and queries around the same centres, as summaries of related skills lie."""
    numbers = numpy.random.default_rng(SEED)
    centres = unit(numbers.standard_normal((CENTRES, DIMS)))

    def around(many):
        noise = unit(numbers.standard_normal((many, DIMS)))
        return unit(centres[numbers.integers(CENTRES, size=many)] + SPREAD * noise)

    return around(count).astype("float32"), around(queries).astype("float32")

"""Partitions of passages and vectors: by their owner, what is shared apart. They come and go while everybody works.

Beside both tables, new ones of the other shape are filled; then these take their names, in one short transaction. Until
then nothing that serves knows of them: a trigger notes which rows change, and those are copied again. What was killed
before that moment is cleared away by the next run, and what was killed after it is finished.

The keys are those of each partition, so nobody who writes has to know them: docs/decisions/0069 says why that is sound.
"""

"""From what is read to what is answered: records of other shards, and those that are done, fall out on the way."""

from __future__ import annotations

from lookahead_cli.batch.feed import Supply
from lookahead_cli.batch.output import Output
from lookahead_cli.batch.records import BadRecord, Record
from lookahead_cli.batch.shard import Shard, in_shard


class Intake:
    """A `Supply` of the records that are still to be answered."""

    def __init__(self, supply: Supply, output: Output, shard: Shard | None) -> None:
        self.supply = supply
        self.output = output
        self.shard = shard
        self.known = 0
        """Records found to be done already."""

    def take(self, wait: bool) -> Record | BadRecord | None:
        while (record := self.supply.take(wait)) is not None:
            if self.shard is not None and not in_shard(record, self.shard):
                continue
            self.output.expect(record.number)
            if not self.output.known(record.id):
                return record
            self.output.skip(record.number, record.id)
            self.known += 1
        return None

    @property
    def ended(self) -> bool:
        return self.supply.ended

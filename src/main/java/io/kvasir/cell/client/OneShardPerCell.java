package io.kvasir.cell.client;

import io.kvasir.cell.home.Cell;
import org.apache.pekko.cluster.sharding.typed.ShardingEnvelope;
import org.apache.pekko.cluster.sharding.typed.ShardingMessageExtractor;

/** A cell is a shard of its own: it moves alone. */
final class OneShardPerCell
    extends ShardingMessageExtractor<ShardingEnvelope<Cell.Message>, Cell.Message> {
  @Override
  public String entityId(ShardingEnvelope<Cell.Message> envelope) {
    return envelope.entityId();
  }

  @Override
  public String shardId(String entityId) {
    return entityId;
  }

  @Override
  public Cell.Message unwrapMessage(ShardingEnvelope<Cell.Message> envelope) {
    return envelope.message();
  }
}

package io.kvasir.lab;

import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.HostTier;
import io.kvasir.enginemodel.Sequence;
import io.kvasir.index.BlockHash;
import org.jspecify.annotations.Nullable;

/** The host memory beside an engine's cache, whose blocks the router learns of as the engine copies and drops them. */
final class HostMemory {
  private HostMemory() {}

  /** Host memory of so many gigabytes; null for none. */
  static @Nullable HostTier of(double gigabytes, EngineModel model, int blockSize, SlotWriter writer) {
    int blocks = (int) Math.min(Integer.MAX_VALUE, gigabytes * 1e9 / model.kvBytesPerToken() / blockSize);
    if (blocks < 1) {
      return null;
    }
    return new HostTier(
        blocks,
        1,
        new HostTier.Listener() {
          @Override
          public void copied(Sequence sequence, int chunk, long key) {
            if (sequence instanceof LabSequence own) {
              writer.copiedToHost(chunk == 0 ? BlockHash.NONE : own.key(chunk - 1), key);
            }
          }

          @Override
          public void dropped(long key) {
            writer.droppedFromHost(key);
          }
        });
  }
}

package io.kvasir.sim.lab;

import io.kvasir.index.BlockIndex;
import io.kvasir.sim.engine.CacheListener;
import io.kvasir.sim.engine.EngineModel;
import io.kvasir.sim.engine.PagedCache;
import io.kvasir.sim.engine.Scheduler;
import io.kvasir.sim.engine.Sequence;
import java.util.ArrayList;
import java.util.List;

/**
 * Predicts from decisions alone: a prompt's blocks count as cached where it was sent, from that moment on,
 * in as much memory as the engine has, the least recently used going first.
 */
final class ApproximateFeed implements IndexFeed {
  private static final CacheListener NOBODY =
      new CacheListener() {
        @Override
        public void stored(Sequence sequence, int from, int to) {}

        @Override
        public void removed(long key) {}

        @Override
        public void cleared() {}
      };

  private static final LabSequence.Listener UNHEARD =
      new LabSequence.Listener() {
        @Override
        public void firstToken(LabSequence sequence) {}

        @Override
        public void ended(LabSequence sequence) {}
      };

  private final List<Scheduler<LabSequence>> caches = new ArrayList<>();

  ApproximateFeed(BlockIndex index, int workers, EngineModel engine, int blockSize) {
    EventWriter[] writers = EventWriter.open(index, workers);
    for (int slot = 0; slot < workers; slot++) {
      EventWriter writer = writers[slot];
      CacheListener listener =
          new BlockEvents() {
            @Override
            void stored(long parent, long[] keys) {
              writer.stored(parent, keys);
            }

            @Override
            public void removed(long key) {
              writer.removed(key);
            }
          };
      int blocks = Math.max(1, engine.kvTokens() / blockSize);
      caches.add(new Scheduler<>(new PagedCache(blocks, blockSize, listener), Integer.MAX_VALUE, 1));
    }
  }

  @Override
  public CacheListener listener(int slot) {
    return NOBODY;
  }

  @Override
  public void routed(int index, int slot, LabRequest request) {
    LabRequest read = LabRequest.at(0, request.promptTokens(), 1, request.chain(), "");
    Scheduler<LabSequence> cache = caches.get(slot);
    cache.add(new LabSequence(index, slot, read, null, UNHEARD));
    cache.complete(cache.plan());
  }
}

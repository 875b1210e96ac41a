package io.kvasir.sim.core;

import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.GroupListener;
import io.kvasir.enginemodel.HostTier;
import io.kvasir.enginemodel.Sequence;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.sim.lmcache.CacheEventReporter;
import io.kvasir.sim.lmcache.CacheWorker;
import io.kvasir.sim.lmcache.ChunkNames;
import io.kvasir.sim.lmcache.ControllerAddress;
import io.kvasir.sim.lmcache.ReportedChunks;
import io.kvasir.sim.publisher.CacheEvent;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.publisher.EventPublisher;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the changes of a rank's caches: the device's as events, one batch a step; host memory's to LMCache's
 * controller, to its coordinator, and, if enabled, as the events of LMCache's connector, which never include that a
 * chunk was dropped. Used by the rank's thread.
 */
final class CacheReporter implements GroupListener, HostTier.Listener, AutoCloseable {
  private static final String DEVICE = "GPU";
  /** In lower case, unlike vLLM's own. */
  private static final String HOST = "cpu";
  private static final int FAST_SECONDS = 60;

  private final SimSettings settings;
  private final @Nullable EventPublisher publisher;
  private final @Nullable CacheWorker worker;
  private final ChunkNames names;
  private final @Nullable ReportedChunks chunks;
  private final List<CacheEvent> events = new ArrayList<>();
  private volatile boolean storesOnly;
  private volatile boolean fastClock;
  private volatile boolean unsalted;

  CacheReporter(
      int rank, SimSettings settings, @Nullable EventPublisher publisher, @Nullable CacheEventReporter coordinator) {
    this.settings = settings;
    this.publisher = publisher;
    if (settings.kv().events().format().encoding() == Encoding.SGLANG) {
      events.add(new CacheEvent.Cleared());
    }
    HostTierSettings host = settings.kv().hostTier();
    names = new ChunkNames(host.noneHash());
    chunks =
        coordinator == null
            ? null
            : new ReportedChunks(
                coordinator, settings.model().root(),
                EngineModel.named(settings.engine().coefficients()).kvBytesPerToken());
    ControllerAddress controller = host.controller();
    worker =
        controller == null
            ? null
            : new CacheWorker(controller, host.instance(rank, settings.engine().ranks()), host.heartbeat());
  }

  /** Whether events leave out from now on what is removed. */
  void setStoresOnly(boolean on) {
    storesOnly = on;
  }

  /** Whether the time that events carry is {@link #FAST_SECONDS} ahead from now on. */
  void setFastClock(boolean on) {
    fastClock = on;
  }

  /** Whether events leave out from now on the salt of what is stored. */
  void setUnsalted(boolean on) {
    unsalted = on;
  }

  /** Sends what happened since it was called last. */
  void publish() {
    if (events.isEmpty()) {
      return;
    }
    // Where no prefixes are kept there is nothing to tell.
    if (publisher != null && settings.kv().prefixCaching()) {
      double seconds = System.currentTimeMillis() / 1e3 + (fastClock ? FAST_SECONDS : 0);
      publisher.publish(seconds, events);
    }
    events.clear();
  }

  @Override
  public void stored(Sequence sequence, int from, int to) {
    if (publisher == null) {
      return;
    }
    GeneratedSequence generation = (GeneratedSequence) sequence;
    events.add(stored(generation, from, to, generation.keys(from, to), unsalted ? null : generation.salt));
  }

  private CacheEvent.Stored stored(GeneratedSequence generation, int from, int to, long[] keys, @Nullable String salt) {
    int blockSize = settings.engine().blockSize();
    return new CacheEvent.Stored(
        from == 0 ? null : generation.key(from - 1), keys, generation.tokens(from * blockSize, to * blockSize),
        blockSize, generation.lora, salt, DEVICE, next(generation, from, to));
  }

  /** The token after each block, where its key depends on that. */
  private int[] next(GeneratedSequence generation, int from, int to) {
    if (settings.engine().speculation() != Speculation.LOOKAHEAD) {
      return new int[0];
    }
    int blockSize = settings.engine().blockSize();
    int[] next = new int[to - from];
    for (int i = 0; i < next.length; i++) {
      int after = (from + i + 1) * blockSize;
      next[i] = generation.tokens(after, after + 1)[0];
    }
    return next;
  }

  /** Of the blocks that are left out an event has the tokens, and nothing else. */
  @Override
  public void stored(int group, Sequence sequence, int from, int to, int[] kept) {
    if (publisher == null) {
      return;
    }
    GeneratedSequence generation = (GeneratedSequence) sequence;
    long[] keys = Arrays.stream(kept).mapToLong(generation::key).toArray();
    String salt = kept.length > 0 && kept[0] == 0 && !unsalted ? generation.salt : null;
    events.add(new CacheEvent.StoredInGroup(group(group), stored(generation, from, to, keys, salt)));
  }

  private CacheEvent.Group group(int number) {
    return switch (settings.engine().groups().get(number - 1)) {
      case CacheGroup.SlidingWindow(int window) -> new CacheEvent.Group(number, "sliding_window", window);
      case CacheGroup.State() -> new CacheEvent.Group(number, "mamba", null);
    };
  }

  @Override
  public void removed(int group, long key) {
    if (publisher != null && !storesOnly) {
      events.add(new CacheEvent.RemovedFromGroup(group, new long[] {key}, DEVICE));
    }
  }

  @Override
  public void removed(long key) {
    if (publisher != null && !storesOnly) {
      events.add(new CacheEvent.Removed(new long[] {key}, DEVICE));
    }
  }

  @Override
  public void cleared() {
    if (publisher != null && !storesOnly) {
      events.add(new CacheEvent.Cleared());
    }
  }

  @Override
  public void copied(Sequence sequence, int chunk, long key) {
    boolean publishes = publisher != null && settings.kv().hostTier().events();
    if (!publishes && worker == null && chunks == null) {
      return;
    }
    GeneratedSequence generation = (GeneratedSequence) sequence;
    int chunkTokens = HostTierSettings.CHUNK_TOKENS;
    int[] tokens = generation.tokens(chunk * chunkTokens, (chunk + 1) * chunkTokens);
    Long before = chunk == 0 ? null : generation.key(chunk * (chunkTokens / settings.engine().blockSize()) - 1);
    if (chunks != null) {
      chunks.add(before, key, tokens, chunk * chunkTokens, generation.salt);
    }
    if (!publishes && worker == null) {
      return;
    }
    long name = names.add(before, key, tokens);
    if (worker != null) {
      worker.admit(name);
    }
    if (publishes) {
      events.add(
          new CacheEvent.Stored(
              before == null ? null : names.name(before), new long[] {name}, tokens, chunkTokens, null, null, HOST));
    }
  }

  @Override
  public void dropped(long key) {
    if (chunks != null) {
      chunks.remove(key);
    }
    if (names.isEmpty()) {
      return;
    }
    long name = names.remove(key);
    if (worker != null) {
      worker.evict(name);
    }
  }

  @Override
  public void close() {
    if (worker != null) {
      worker.close();
    }
    if (publisher != null) {
      publisher.close();
    }
  }
}

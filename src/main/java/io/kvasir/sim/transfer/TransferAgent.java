package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An engine's KV transfers: the blocks it keeps for others, the side channel from which they fetch them, and the client
 * that fetches from others. Closing it is as sudden as a crash: waiting engines get no answer. Thread-safe.
 */
public final class TransferAgent implements AutoCloseable {
  private final TransferSettings settings;
  private final @Nullable KvConnector connector;
  private final ScheduledThreadPoolExecutor timer;
  private final KvLeases leases;
  private final @Nullable SideChannel sideChannel;
  private final KvFetcher fetcher = new KvFetcher();
  private final LocalEngine localEngine;
  private final String engineId;
  private final LongAdder received = new LongAdder();
  private final LongAdder ignored = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder recomputed = new LongAdder();

  /**
   * Begins, under a new engine id unless one is set.
   *
   * @param host interface of the side channel
   * @param memory what peers may pull
   * @throws IOException when its port is taken
   */
  public TransferAgent(
      TransferSettings settings, Role role, String host, int ranks, int blockSize, PeerMemory memory)
      throws IOException {
    this.settings = settings;
    this.connector = connector(settings.dialect());
    this.timer = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("sim-transfer").factory());
    timer.setRemoveOnCancelPolicy(true);
    this.leases = new KvLeases(settings.effectiveLease(), timer);
    this.engineId = settings.engineId() != null ? settings.engineId() : UUID.randomUUID().toString();
    List<String> ids =
        ranks == 1 ? List.of(engineId) : IntStream.range(0, ranks).mapToObj(rank -> engineId + "_dp" + rank).toList();
    String reachable = host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
    this.sideChannel = connector == null ? null : new SideChannel(host, settings.port());
    this.localEngine =
        new LocalEngine(
            reachable, sideChannel == null ? 0 : sideChannel.port(), ids, role, blockSize, settings.effectiveLease(),
            settings.effectiveWatchdog());
    if (sideChannel != null && connector != null) {
      sideChannel.serve(leases, connector, localEngine, memory);
    }
  }

  private static @Nullable KvConnector connector(TransferDialect dialect) {
    return switch (dialect) {
      case NONE -> null;
      case VLLM_NIXL, VLLM_NIXL_OLD, VLLM_PUSH -> new NixlConnector(dialect);
      case VLLM_MOONCAKE -> new MooncakeConnector();
      case VLLM_P2P -> new PeersConnector();
      case SGLANG -> new SglangConnector();
      case TENSORRT_LLM -> new TensorRtConnector();
    };
  }

  /** The side channel's port; 0 without one. */
  public int port() {
    return localEngine.port();
  }

  /** The id that it announces: with several ranks each has its own, which begins with this. */
  public String engineId() {
    return engineId;
  }

  /** The id by which other engines know a rank. */
  public String engineId(int rank) {
    return localEngine.engineIds().get(rank);
  }

  /** Whether requests' transfer parameters are read. */
  public boolean isEnabled() {
    return connector != null;
  }

  /** How long an engine waits for the other one of a transfer. */
  public Duration watchdog() {
    return settings.effectiveWatchdog();
  }

  /** Whether a failed transfer is recomputed, or fails the request. */
  public boolean recomputesOnFailure() {
    return settings.recompute();
  }

  /**
   * The transfer of each sequence of a request.
   *
   * @throws TransferRejectedException when the engine does not serve such a request
   */
  public List<TransferSpec> specs(ConnectorRequest request) throws TransferRejectedException {
    if (connector == null) {
      return KvConnector.noTransfers(request);
    }
    List<TransferSpec> specs = connector.specs(request, localEngine);
    if (specs == null) {
      ignored.increment();
      return KvConnector.noTransfers(request);
    }
    return specs;
  }

  /** Adds the next engine's parameters to an unstreamed answer. */
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent) {
    if (connector != null && !sent.isEmpty()) {
      connector.addParams(answer, sent, localEngine);
    }
  }

  /**
   * Announces blocks that are being computed.
   *
   * @throws TransferRejectedException when the name is in use already
   */
  public void open(TransferSpec.Send spec) throws TransferRejectedException {
    if (!leases.open(key(spec.id(), spec.rank()))) {
      throw new TransferRejectedException(400, "'" + spec.id() + "' is in use by another request");
    }
  }

  /** Completes when the blocks have been requested. */
  public CompletableFuture<Void> requested(TransferSpec.Send spec) {
    return leases.requested(key(spec.id(), spec.rank()));
  }

  /** Offers computed blocks, kept until they are fetched or their lease ends. */
  public void offer(TransferSpec.Send spec, LeasedBlocks held) {
    leases.offer(key(spec.id(), spec.rank()), held);
  }

  /** Withdraws announced blocks. */
  public void withdraw(TransferSpec.Send spec) {
    leases.withdraw(key(spec.id(), spec.rank()));
  }

  /** Renews the other engine's lease at the spec's interval, until the returned future is cancelled. */
  public ScheduledFuture<?> startHeartbeats(TransferSpec.Receive spec) {
    long nanos = spec.heartbeatInterval().toNanos();
    return timer.scheduleAtFixedRate(
        () -> Thread.startVirtualThread(() -> fetcher.sendHeartbeat(spec)), 0, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Waits for another engine's blocks. The copying itself takes the time the caller gives it; {@link #confirmCopied}
   * ends it.
   *
   * @throws IOException when they cannot be fetched; the message has the reason
   */
  public FetchedBlocks fetch(TransferSpec.Receive spec) throws IOException {
    return fetcher.fetch(spec);
  }

  /** Confirms that blocks were copied, so that the other engine frees them. */
  public void confirmCopied(TransferSpec.Receive spec) {
    received.increment();
    fetcher.sendDone(spec, true);
  }

  /** Releases blocks that are no longer needed, where the engine family does so. */
  public void abandon(TransferSpec.Receive spec) {
    if (spec.releasesOnAbandon()) {
      fetcher.sendDone(spec, false);
    }
  }

  /** Leading blocks of a prompt's keys that a peer holds; 0 where it cannot be reached. Blocks. */
  public int held(TransferSpec.Pull pull, long[] keys) {
    try {
      return fetcher.held(pull, keys);
    } catch (IOException e) {
      failed.increment();
      return 0;
    }
  }

  /** Counts a copy from a peer. */
  public void countPulled() {
    received.increment();
  }

  /** Counts a transfer that failed. */
  public void countFailure(boolean isRecomputed) {
    failed.increment();
    if (isRecomputed) {
      recomputed.increment();
    }
  }

  /** The time to copy {@code bytes} over the network, nanoseconds. */
  public long nanosFor(double bytes) {
    return (long) (bytes * 8 / settings.gbps());
  }

  /** Counts so far. */
  public TransferStats stats() {
    return new TransferStats(
        leases.held(), leases.sent(), received.sum(), ignored.sum(), failed.sum(), recomputed.sum(), leases.expired(),
        leases.heartbeats());
  }

  @Override
  public void close() {
    if (sideChannel != null) {
      sideChannel.close();
    }
    fetcher.close();
    timer.shutdownNow();
  }

  private String key(String id, int rank) {
    return connector == null ? id : connector.key(id, rank, localEngine);
  }
}

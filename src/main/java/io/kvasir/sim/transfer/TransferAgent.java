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
 * An engine's part in moving KV between engines: what it keeps for others, the side channel where they fetch it, and
 * the way to fetch what others keep. Closing it is as sudden as a crash: whoever waits for it is left waiting.
 * Thread-safe.
 */
public final class TransferAgent implements AutoCloseable {
  private final TransferSettings settings;
  private final @Nullable KvConnector connector;
  private final ScheduledThreadPoolExecutor timer;
  private final KvLeases leases;
  private final @Nullable SideChannel sideChannel;
  private final KvFetcher fetcher = new KvFetcher();
  private final LocalEngine localEngine;
  private final LongAdder received = new LongAdder();
  private final LongAdder ignored = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder recomputed = new LongAdder();

  /**
   * Begins, under a new engine id unless one is set.
   *
   * @param host interface of the side channel
   * @throws IOException when its port is taken
   */
  public TransferAgent(TransferSettings settings, Role role, String host, int ranks, int blockSize) throws IOException {
    this.settings = settings;
    this.connector = connector(settings.dialect());
    this.timer = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("sim-transfer").factory());
    timer.setRemoveOnCancelPolicy(true);
    this.leases = new KvLeases(settings.effectiveLease(), timer);
    String id = settings.engineId() != null ? settings.engineId() : UUID.randomUUID().toString();
    List<String> ids =
        ranks == 1 ? List.of(id) : IntStream.range(0, ranks).mapToObj(rank -> id + "_dp" + rank).toList();
    String reachable = host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
    this.sideChannel = connector == null ? null : new SideChannel(host, settings.port());
    this.localEngine =
        new LocalEngine(
            reachable, sideChannel == null ? 0 : sideChannel.port(), ids, role, blockSize, settings.effectiveLease(),
            settings.effectiveWatchdog());
    if (sideChannel != null && connector != null) {
      sideChannel.serve(leases, connector, localEngine);
    }
  }

  private static @Nullable KvConnector connector(TransferDialect dialect) {
    return switch (dialect) {
      case NONE -> null;
      case VLLM_NIXL, VLLM_NIXL_OLD, VLLM_PUSH -> new NixlConnector(dialect);
      case VLLM_MOONCAKE -> new MooncakeConnector();
      case SGLANG -> new SglangConnector();
      case TENSORRT_LLM -> new TensorRtConnector();
    };
  }

  /** The side channel's port; 0 without one. */
  public int port() {
    return localEngine.port();
  }

  /** A rank's id towards other engines. */
  public String engineId(int rank) {
    return localEngine.engineIds().get(rank);
  }

  /** Whether what a request asks of transfer is looked at. */
  public boolean isEnabled() {
    return connector != null;
  }

  /** How long a leg waits for its sibling. */
  public Duration watchdog() {
    return settings.effectiveWatchdog();
  }

  /** Whether a failed transfer is made good by computing. */
  public boolean recomputesOnFailure() {
    return settings.recompute();
  }

  /**
   * What each sequence of a request has to do with other engines.
   *
   * @throws TransferRejectedException when the engine does not serve such a request
   */
  public List<TransferSpec> specs(ConnectorRequest request) throws TransferRejectedException {
    if (connector == null) {
      return KvConnector.noTransfers(request);
    }
    List<TransferSpec> legs = connector.specs(request, localEngine);
    if (legs == null) {
      ignored.increment();
      return KvConnector.noTransfers(request);
    }
    return legs;
  }

  /** Adds to an answer in one piece what the next leg needs. */
  public void addParams(ObjectNode answer, List<PrefillResult> sent) {
    if (connector != null && !sent.isEmpty()) {
      connector.addParams(answer, sent, localEngine);
    }
  }

  /**
   * Says that blocks are in the making.
   *
   * @throws TransferRejectedException when some are under this name already
   */
  public void open(TransferSpec.Send leg) throws TransferRejectedException {
    if (!leases.open(key(leg.id(), leg.rank()))) {
      throw new TransferRejectedException(400, "'" + leg.id() + "' is in use by another request");
    }
  }

  /** Completes when somebody has asked for the blocks. */
  public CompletableFuture<Void> requested(TransferSpec.Send leg) {
    return leases.requested(key(leg.id(), leg.rank()));
  }

  /** The blocks are there, and kept until they are fetched or their lease ends. */
  public void offer(TransferSpec.Send leg, LeasedBlocks held) {
    leases.offer(key(leg.id(), leg.rank()), held);
  }

  /** There will be no blocks. */
  public void withdraw(TransferSpec.Send leg) {
    leases.withdraw(key(leg.id(), leg.rank()));
  }

  /** Tells the other engine from time to time that its blocks are still wanted, until the returned is cancelled. */
  public ScheduledFuture<?> startHeartbeats(TransferSpec.Receive leg) {
    long nanos = leg.heartbeatInterval().toNanos();
    return timer.scheduleAtFixedRate(
        () -> Thread.startVirtualThread(() -> fetcher.sendHeartbeat(leg)), 0, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Waits for another engine's blocks. The copying itself takes the time the caller gives it; {@link #confirmCopied}
   * ends it.
   *
   * @throws IOException when they cannot be had, in plain words
   */
  public FetchedBlocks fetch(TransferSpec.Receive leg) throws IOException {
    return fetcher.fetch(leg);
  }

  /** Blocks were copied; the other engine can free them. */
  public void confirmCopied(TransferSpec.Receive leg) {
    received.increment();
    fetcher.sendDone(leg, true);
  }

  /** Blocks are not wanted any more. */
  public void abandon(TransferSpec.Receive leg) {
    if (leg.releasesOnAbandon()) {
      fetcher.sendDone(leg, false);
    }
  }

  /** Counts a transfer that failed. */
  public void countFailure(boolean madeGood) {
    failed.increment();
    if (madeGood) {
      recomputed.increment();
    }
  }

  /** How long {@code bytes} take over the wire, nanoseconds. */
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

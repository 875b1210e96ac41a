package io.kvasir.sim;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.transfer.Held;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.Leg;
import io.kvasir.sim.transfer.Parcel;
import io.kvasir.sim.transfer.Refusal;
import io.kvasir.sim.transfer.Sent;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request's part in moving KV between engines: what its sequences are to send is offered when they end, what they
 * are to receive is fetched when the engine has blocks for it. Used by the request's thread; fetching has threads of
 * its own, which closing ends.
 */
final class Handover {
  private static final Logger LOG = LoggerFactory.getLogger(Handover.class);

  private final TransferAgent transfer;
  private final Wire wire;
  private final Job job;
  private final EngineCore rank;
  private final List<Generation> generations;
  private final List<Leg.Send> opened = new ArrayList<>();
  private final Queue<Thread> fetching = new ConcurrentLinkedQueue<>();
  private final Queue<Future<?>> beating = new ConcurrentLinkedQueue<>();
  private final boolean[] offered;

  /**
   * What copying costs.
   *
   * @param bytesPerToken of keys and values
   * @param speed how many times faster than real; 0 for no time at all
   */
  record Wire(Prose prose, double bytesPerToken, double speed) {}

  Handover(TransferAgent transfer, Wire wire, Job job, EngineCore rank, List<Generation> generations) {
    this.transfer = transfer;
    this.wire = wire;
    this.job = job;
    this.rank = rank;
    this.generations = generations;
    this.offered = new boolean[generations.size()];
  }

  /** Before the sequences are submitted. */
  void begin() throws ApiError {
    for (int i = 0; i < generations.size(); i++) {
      Generation generation = generations.get(i);
      switch (job.legs().get(i)) {
        case Leg.Alone _ -> { }
        case Leg.Send send -> {
          try {
            transfer.open(send);
          } catch (Refusal refused) {
            throw ApiError.of(refused.status(), String.valueOf(refused.getMessage()));
          }
          opened.add(send);
          generation.sends(send.onStop());
        }
        case Leg.Receive receive -> {
          int variant = i % job.choices();
          generation.receives(receive.most(), (loading, from) -> fetch(receive, loading, from, variant));
        }
      }
    }
  }

  /** Completes when the sequences may be computed: when those who want their blocks have asked for them. */
  CompletableFuture<?> awaited() {
    return CompletableFuture.allOf(
        opened.stream()
            .filter(Leg.Send::awaitsTaker)
            .map(transfer::asked)
            .toArray(CompletableFuture<?>[]::new));
  }

  /** From when the scheduler has the sequences, their blocks elsewhere are kept alive. */
  void submitted() {
    for (Leg leg : job.legs()) {
      if (leg instanceof Leg.Receive receive && !receive.beat().isZero()) {
        beating.add(transfer.beat(receive));
      }
    }
  }

  /** Offers what has ended; adds to an answer in one piece what the next leg needs. */
  void tell(ObjectNode answer) {
    offer();
    List<Sent> sent = new ArrayList<>();
    for (int i = 0; i < generations.size(); i++) {
      Generation generation = generations.get(i);
      if (job.legs().get(i) instanceof Leg.Send leg) {
        int[] blocks = generation.keptBlocks();
        boolean unfinished =
            leg.firstTokenOnly() && job.mostAsked() > 1 && generation.finish() == Generation.Finish.LENGTH;
        sent.add(
            new Sent(
                leg, rank.rank(), generation.prompt(), said(generation), blocks == null ? new int[0] : blocks,
                blocks != null, unfinished));
      }
    }
    transfer.tell(answer, sent);
  }

  /** The request is over, however it went. */
  void close() {
    offer();
    fetching.forEach(Thread::interrupt);
    beating.forEach(beat -> beat.cancel(false));
    for (int i = 0; i < generations.size(); i++) {
      switch (job.legs().get(i)) {
        case Leg.Alone _ -> { }
        case Leg.Send send -> {
          if (!offered[i] && opened.contains(send)) {
            transfer.withdraw(send);
          }
        }
        case Leg.Receive receive -> {
          Generation.Finish finish = generations.get(i).finish();
          // Without anything fetched, what is held here already was enough.
          if (finish == null || finish == Generation.Finish.ABORT || fetching.isEmpty()) {
            Thread.startVirtualThread(() -> transfer.abandon(receive));
          }
        }
      }
    }
  }

  private void offer() {
    for (int i = 0; i < generations.size(); i++) {
      Generation generation = generations.get(i);
      int[] blocks = generation.finish() == null ? null : generation.keptBlocks();
      if (blocks != null && !offered[i] && job.legs().get(i) instanceof Leg.Send send) {
        offered[i] = true;
        transfer.offer(
            send,
            new Held(
                generation.prompt(), send.firstTokenOnly() ? said(generation) : new int[0], blocks,
                () -> rank.free(generation)));
      }
    }
  }

  private static int[] said(Generation generation) {
    int[] tokens = new int[generation.delivered()];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = generation.token(i);
    }
    return tokens;
  }

  /** On the engine's thread. */
  private void fetch(Leg.Receive leg, Generation generation, int from, int variant) {
    fetching.add(Thread.startVirtualThread(() -> fetchNow(leg, generation, from, variant)));
  }

  private void fetchNow(Leg.Receive leg, Generation generation, int from, int variant) {
    try {
      Parcel parcel = transfer.fetch(leg);
      copy(Math.max(0, Math.min(parcel.tokens().length, leg.most()) - from));
      transfer.copied(leg);
      int[] generated = leg.firstTokens().length > 0 ? leg.firstTokens() : parcel.firstTokens();
      rank.loaded(generation, () -> generation.arrived(parcel.tokens(), generated, wire.prose(), variant));
    } catch (IOException e) {
      LOG.warn("KV of {} from {}:{} did not come: {}", leg.id(), leg.host(), leg.port(), e.getMessage());
      transfer.countFailure(transfer.recomputes());
      if (transfer.recomputes()) {
        rank.notLoaded(generation);
      } else {
        rank.fail(generation, "KV transfer failed: " + e.getMessage());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      beating.forEach(beat -> beat.cancel(false));
    }
  }

  private void copy(int tokens) throws InterruptedException {
    if (wire.speed() > 0) {
      TimeUnit.NANOSECONDS.sleep((long) (transfer.nanosFor(tokens * wire.bytesPerToken()) / wire.speed()));
    }
  }
}

package io.kvasir.sim;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.transfer.FetchedBlocks;
import io.kvasir.sim.transfer.LeasedBlocks;
import io.kvasir.sim.transfer.PrefillResult;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.TransferRejectedException;
import io.kvasir.sim.transfer.TransferSpec;
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
final class RequestTransfer {
  private static final Logger LOG = LoggerFactory.getLogger(RequestTransfer.class);

  private final TransferAgent transfer;
  private final CopyCost copyCost;
  private final GenerationRequest job;
  private final EngineCore rank;
  private final List<GeneratedSequence> generations;
  private final List<TransferSpec.Send> opened = new ArrayList<>();
  private final Queue<Thread> fetches = new ConcurrentLinkedQueue<>();
  private final Queue<Future<?>> heartbeats = new ConcurrentLinkedQueue<>();
  private final boolean[] offered;

  /**
   * What copying costs.
   *
   * @param bytesPerToken of keys and values
   * @param speed how many times faster than real; 0 for no time at all
   */
  record CopyCost(SyntheticText syntheticText, double bytesPerToken, double speed) {}

  RequestTransfer(TransferAgent transfer, CopyCost wire, GenerationRequest job, EngineCore rank,
      List<GeneratedSequence> generations) {
    this.transfer = transfer;
    this.copyCost = wire;
    this.job = job;
    this.rank = rank;
    this.generations = generations;
    this.offered = new boolean[generations.size()];
  }

  /** Before the sequences are submitted. */
  void prepare() throws EngineApiException {
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      switch (job.transfers().get(i)) {
        case TransferSpec.NoTransfer _ -> { }
        case TransferSpec.Send send -> {
          try {
            transfer.open(send);
          } catch (TransferRejectedException refused) {
            throw EngineApiException.of(refused.status(), String.valueOf(refused.getMessage()));
          }
          opened.add(send);
          generation.retainBlocks(send.keepOnStop());
        }
        case TransferSpec.Receive receive -> {
          int variant = i % job.choices();
          generation.copyPrefix(receive.maxTokens(), (loading, from) -> fetch(receive, loading, from, variant));
        }
      }
    }
  }

  /** Completes when the sequences may be computed: when those who want their blocks have asked for them. */
  CompletableFuture<?> receiversReady() {
    return CompletableFuture.allOf(
        opened.stream()
            .filter(TransferSpec.Send::awaitsReceiver)
            .map(transfer::requested)
            .toArray(CompletableFuture<?>[]::new));
  }

  /** From when the scheduler has the sequences, their blocks elsewhere are kept alive. */
  void startHeartbeats() {
    for (TransferSpec leg : job.transfers()) {
      if (leg instanceof TransferSpec.Receive receive && !receive.heartbeatInterval().isZero()) {
        heartbeats.add(transfer.startHeartbeats(receive));
      }
    }
  }

  /** Offers what has ended; adds to an answer in one piece what the next leg needs. */
  void addParams(ObjectNode answer) {
    offer();
    List<PrefillResult> sent = new ArrayList<>();
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      if (job.transfers().get(i) instanceof TransferSpec.Send leg) {
        int[] blocks = generation.keptBlocks();
        boolean unfinished =
            leg.firstTokenOnly() && job.requestedTokens() > 1
                && generation.finish() == GeneratedSequence.FinishReason.LENGTH;
        sent.add(
            new PrefillResult(
                leg, rank.rank(), generation.prompt(), generatedTokens(generation), blocks == null ? new int[0]
                    : blocks,
                blocks != null, unfinished));
      }
    }
    transfer.addParams(answer, sent);
  }

  /** The request is over, however it went. */
  void close() {
    offer();
    fetches.forEach(Thread::interrupt);
    heartbeats.forEach(beat -> beat.cancel(false));
    for (int i = 0; i < generations.size(); i++) {
      switch (job.transfers().get(i)) {
        case TransferSpec.NoTransfer _ -> { }
        case TransferSpec.Send send -> {
          if (!offered[i] && opened.contains(send)) {
            transfer.withdraw(send);
          }
        }
        case TransferSpec.Receive receive -> {
          GeneratedSequence.FinishReason finish = generations.get(i).finish();
          // Without anything fetched, what is held here already was enough.
          if (finish == null || finish == GeneratedSequence.FinishReason.ABORT || fetches.isEmpty()) {
            Thread.startVirtualThread(() -> transfer.abandon(receive));
          }
        }
      }
    }
  }

  private void offer() {
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      int[] blocks = generation.finish() == null ? null : generation.keptBlocks();
      if (blocks != null && !offered[i] && job.transfers().get(i) instanceof TransferSpec.Send send) {
        offered[i] = true;
        transfer.offer(
            send,
            new LeasedBlocks(
                generation.prompt(), send.firstTokenOnly() ? generatedTokens(generation) : new int[0], blocks,
                () -> rank.free(generation)));
      }
    }
  }

  private static int[] generatedTokens(GeneratedSequence generation) {
    int[] tokens = new int[generation.delivered()];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = generation.token(i);
    }
    return tokens;
  }

  /** On the engine's thread. */
  private void fetch(TransferSpec.Receive leg, GeneratedSequence generation, int from, int variant) {
    fetches.add(Thread.startVirtualThread(() -> fetchNow(leg, generation, from, variant)));
  }

  private void fetchNow(TransferSpec.Receive leg, GeneratedSequence generation, int from, int variant) {
    try {
      FetchedBlocks parcel = transfer.fetch(leg);
      copy(Math.max(0, Math.min(parcel.tokens().length, leg.maxTokens()) - from));
      transfer.confirmCopied(leg);
      int[] generated = leg.firstTokens().length > 0 ? leg.firstTokens() : parcel.firstTokens();
      rank.loaded(generation, () -> generation.onCopied(parcel.tokens(), generated, copyCost.syntheticText(), variant));
    } catch (IOException e) {
      LOG.warn("KV of {} from {}:{} did not come: {}", leg.id(), leg.host(), leg.port(), e.getMessage());
      transfer.countFailure(transfer.recomputesOnFailure());
      if (transfer.recomputesOnFailure()) {
        rank.loadFailed(generation);
      } else {
        rank.fail(generation, "KV transfer failed: " + e.getMessage());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      heartbeats.forEach(beat -> beat.cancel(false));
    }
  }

  private void copy(int tokens) throws InterruptedException {
    if (copyCost.speed() > 0) {
      TimeUnit.NANOSECONDS.sleep((long) (transfer.nanosFor(tokens * copyCost.bytesPerToken()) / copyCost.speed()));
    }
  }
}

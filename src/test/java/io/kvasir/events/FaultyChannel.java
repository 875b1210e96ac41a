package io.kvasir.events;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The faults between an engine's publisher and the consumer of its events, at random: messages dropped,
 * doubled, swapped and cut, replays that lose messages and their mark, connections that break, and a process that
 * restarts while disconnected. An engine may offer snapshots; of those some are not to be had. A real {@link Sequencer}
 * stands at the end of it.
 */
public final class FaultyChannel {
  /**
   * How bad it is.
   *
   * @param loss share of live messages that never arrive
   * @param lossyReplay whether replays lose messages too
   * @param buffer messages the engine can send again
   */
  public record Faults(double loss, boolean lossyReplay, int buffer) {}

  private record Message(KvBatch batch, byte[] payload) {}

  private static final byte[] NO_PAYLOAD = {};

  private final SplittableRandom random;
  private final Faults faults;
  private final Consumer<KvBatch> out;
  private final @Nullable Supplier<List<KvEvent>> held;
  private final EventDecoder decoder = new EventDecoder();
  private final EventMetrics.SourceMetrics metrics =
      new EventMetrics(new Metrics(new PrometheusRegistry())).of("test");

  // The engine.
  private final List<Message> history = new ArrayList<>();
  private long clock = 1000;

  // The wire.
  private final ArrayDeque<Message> live = new ArrayDeque<>();
  private final ArrayDeque<Message> replies = new ArrayDeque<>();
  private boolean connected;
  private boolean replaying;
  private boolean marked;
  private boolean quiet;
  private boolean asked;
  private @Nullable EngineSnapshot answer;

  private FaultyOutput link;

  /** A channel to an engine that has published nothing yet; not connected. */
  public FaultyChannel(SplittableRandom random, Faults faults, Consumer<KvBatch> out) {
    this(random, faults, out, null);
  }

  /** As above; {@code held} is all that the engine holds, as a snapshot's events, null without snapshots. */
  public FaultyChannel(
      SplittableRandom random, Faults faults, Consumer<KvBatch> out, @Nullable Supplier<List<KvEvent>> held) {
    this.random = random;
    this.faults = faults;
    this.out = out;
    this.held = held;
    this.link = new FaultyOutput();
  }

  /** Whether the subscriber is connected, so that what it delivers is about the engine as it is. */
  public boolean isConnected() {
    return connected;
  }

  /** Number of the last message the engine published, -1 if none. */
  public long lastPublished() {
    return history.size() - 1L;
  }

  /** The engine publishes a batch. */
  public void publish(List<KvEvent> events) {
    send(new Message(new KvBatch(history.size(), ++clock, 0, List.copyOf(events)), NO_PAYLOAD));
  }

  /** The engine publishes a message as it was recorded, whose number is the next. */
  public void publish(byte[] payload) {
    send(new Message(decoder.decode(history.size(), payload).batch(), payload));
  }

  private void send(Message message) {
    history.add(message);
    if (connected && (quiet || random.nextDouble() >= faults.loss)) {
      live.add(message);
    }
    while (quiet && connected && isBusy()) {
      step();
    }
  }

  /** Connects, for the first time or again. */
  public void connect() {
    connected = true;
    say(new KvEvent.Connected());
    link.sequencer.connected();
  }

  /** Breaks the connection; what was under way may still be read. */
  public void disconnect() {
    connected = false;
    link.sequencer.disconnected();
    say(new KvEvent.Disconnected());
    for (int left = random.nextInt(live.size() + 1); left > 0; left--) {
      link.sequencer.live(whole(live.remove()), 1);
    }
    live.clear();
  }

  /** The engine begins anew, with nothing published. While the subscriber is not connected. */
  public void restart() {
    history.clear();
  }

  /** Something may arrive, in whatever shape. */
  public void step() {
    if (!connected) {
      return;
    }
    if (asked && (live.isEmpty() || random.nextBoolean())) {
      snapshot();
    } else if (replaying && (live.isEmpty() || random.nextBoolean())) {
      reply();
    } else if (!live.isEmpty()) {
      receive();
    }
  }

  /** From now on everything arrives, and at once. */
  public void calm() {
    quiet = true;
    while (isBusy()) {
      step();
    }
  }

  private boolean isBusy() {
    return replaying || asked || !live.isEmpty();
  }

  /** The engine answers, or its answer arrives, or it turns out that none will. */
  private void snapshot() {
    EngineSnapshot arrived = answer;
    if (!quiet && random.nextInt(4) == 0) {
      endSnapshot();
      link.sequencer.snapshotFailed(random.nextInt(10) > 0, "none");
    } else if (arrived == null) {
      List<KvEvent> events = Objects.requireNonNull(held).get();
      int cut = random.nextInt(events.size() + 1);
      answer =
          new EngineSnapshot(
              history.size(), clock, PublisherId.NONE,
              List.of(
                  new EngineSnapshot.Part(0, events.subList(0, cut), 1),
                  new EngineSnapshot.Part(0, events.subList(cut, events.size()), 1)));
    } else {
      endSnapshot();
      link.sequencer.snapshot(arrived);
    }
  }

  private void endSnapshot() {
    asked = false;
    answer = null;
  }

  /** A new subscription, as to resynchronise: it begins before the first message the engine still has. */
  public void resubscribe() {
    link.closed = true;
    endSnapshot();
    replaying = false;
    replies.clear();
    live.clear();
    link = new FaultyOutput();
    connect();
    calm();
  }

  private void receive() {
    Message message = live.remove();
    Message next = live.peek();
    Sequencer sequencer = link.sequencer;
    switch (quiet ? 9 : random.nextInt(10)) {
      case 0 -> {
        sequencer.live(whole(message), 1);
        sequencer.live(whole(message), 1);
      }
      case 1 -> {
        if (next != null) {
          sequencer.live(whole(live.remove()), 1);
        }
        sequencer.live(whole(message), 1);
      }
      case 2 -> sequencer.live(cut(message), 1);
      default -> sequencer.live(whole(message), 1);
    }
  }

  private void reply() {
    if (replies.isEmpty()) {
      link.sequencer.replayEnded(marked);
      return;
    }
    Message reply = replies.remove();
    if (link.sequencer.needs(reply.batch.sequence())) {
      link.sequencer.replayed(whole(reply), 1);
    } else {
      link.sequencer.replayedDuplicate(reply.batch.sequence());
    }
  }

  private DecodedMessage whole(Message message) {
    return message.payload.length == 0
        ? new DecodedMessage(message.batch, Map.of(), null)
        : decoder.decode(message.batch.sequence(), message.payload);
  }

  /** Some of its events may still be readable. */
  private DecodedMessage cut(Message message) {
    long sequence = message.batch.sequence();
    if (message.payload.length != 0) {
      return decoder.decode(sequence, Arrays.copyOf(message.payload, random.nextInt(message.payload.length)));
    }
    List<KvEvent> events = message.batch.events();
    List<KvEvent> readable = events.isEmpty() ? events : events.subList(0, random.nextInt(events.size()));
    return new DecodedMessage(new KvBatch(sequence, 0, KvBatch.UNKNOWN_RANK, readable), Map.of(), "cut");
  }

  private void say(KvEvent event) {
    out.accept(KvBatch.ofStream(event));
  }

  /** One subscription. */
  private final class FaultyOutput implements SequencerOutput {
    private final Sequencer sequencer = new Sequencer(this, true, held != null, false, metrics);
    private boolean closed;

    @Override
    public void deliver(KvBatch batch, int bytes, boolean wasLive) {
      if (!closed) {
        out.accept(batch);
      }
    }

    @Override
    public void replay(long from) {
      replaying = true;
      replies.clear();
      boolean lossy = !quiet && faults.lossyReplay && random.nextInt(3) == 0;
      for (long at = Math.max(from, history.size() - faults.buffer); at < history.size(); at++) {
        // As a full pipe does: what follows the first ones is lost, here and there.
        if (!lossy || replies.size() < 3 || random.nextBoolean()) {
          replies.add(history.get((int) at));
        }
      }
      marked = !lossy || random.nextBoolean();
    }

    @Override
    public void snapshot() {
      endReplay();
      asked = true;
    }

    @Override
    public void endReplay() {
      endSnapshot();
      replaying = false;
      replies.clear();
    }
  }
}

package io.kvasir.cell.home;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.KvBatch;
import io.kvasir.events.StreamPosition;
import java.io.EOFException;
import java.time.Duration;
import java.util.function.Function;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.stream.ActorAttributes;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.typed.javadsl.ActorSink;
import org.jspecify.annotations.Nullable;

/**
 * The event stream of one worker, for an actor that it sends messages: batches come one at a time. One that fails or
 * ends is opened again, after a pause that grows while nothing comes. One thread at a time: the actor's.
 *
 * @param <M> the actor's messages
 */
final class EventStream<M> {
  static final String DISPATCHER_NAME = "kvasir-events-dispatcher";

  private static final Duration MIN_REOPEN_PAUSE = Duration.ofSeconds(1);
  private static final Duration MAX_REOPEN_PAUSE = Duration.ofSeconds(30);

  /** The messages of a stream, for {@link #on}; those of one that has been replaced by another are ignored. */
  sealed interface Message {}

  /** It asks for the first demand. */
  record Started(ActorRef<Demand> stream) implements Message {}

  private record Batch(int number, KvBatch batch, ActorRef<Demand> stream) implements Message {}

  private record Ended(int number) implements Message {}

  private record Failed(int number, Throwable cause) implements Message {}

  /** The stream that failed, or ended by itself, is to be opened again. */
  private record Reopen(int number) implements Message {}

  private enum Demand { NEXT }

  /** What is made of a stream. */
  interface Reader {
    /** Takes the next batch; the one after it comes when this returns. */
    void batch(KvBatch batch);

    /** The stream has failed or ended; {@link #reopen} follows after a pause. */
    void failed(Throwable cause);

    /** Has the stream {@linkplain #resume resumed}, or {@linkplain #open opened} from the beginning. */
    void reopen();
  }

  private final ActorContext<M> context;
  private final Function<Message, M> asMessage;
  private final Member member;
  private final EventSources sources;
  private final Reader reader;
  private int number;
  private @Nullable UniqueKillSwitch running;
  private Duration reopenPause = MIN_REOPEN_PAUSE;

  /**
   * Not open yet.
   *
   * @param context of the actor that gets the messages
   * @param asMessage makes them the actor's
   */
  EventStream(
      ActorContext<M> context,
      Function<Message, M> asMessage,
      Member member,
      EventSources sources,
      Reader reader) {
    this.context = context;
    this.asMessage = asMessage;
    this.member = member;
    this.sources = sources;
    this.reader = reader;
  }

  /** Opens the stream from its beginning, in place of one that is open. */
  void open() {
    Source<KvBatch, NotUsed> opened;
    try {
      opened = sources.open(member.worker(), member.pod());
    } catch (RuntimeException failed) {
      opened = Source.failed(failed);
    }
    run(opened);
  }

  /** Opens the stream after a position; returns false when it has to be read from its beginning. */
  boolean resume(StreamPosition last) {
    Source<KvBatch, NotUsed> rest;
    try {
      rest = sources.resume(member.worker(), member.pod(), last);
    } catch (RuntimeException failed) {
      rest = Source.failed(failed);
    }
    if (rest == null) {
      return false;
    }
    run(rest);
    return true;
  }

  private void run(Source<KvBatch, NotUsed> batches) {
    shutdown();
    int opened = ++number;
    running =
        batches
            .viaMat(KillSwitches.single(), Keep.right())
            .to(
                ActorSink.actorRefWithBackpressure(
                    context.getSelf(),
                    (ack, batch) -> asMessage.apply(new Batch(opened, batch, ack)),
                    ack -> asMessage.apply(new Started(ack)),
                    Demand.NEXT,
                    asMessage.apply(new Ended(opened)),
                    cause -> asMessage.apply(new Failed(opened, cause))))
            // On the actor's threads: a batch passes from one to the other without waking anybody.
            .withAttributes(ActorAttributes.dispatcher(DISPATCHER_NAME))
            .run(context.getSystem());
  }

  /** Closes the stream, if one is open. */
  void shutdown() {
    if (running != null) {
      running.shutdown();
    }
  }

  /** Handles a message of this stream, or of one before it. */
  void on(Message message) {
    switch (message) {
      case Started(var stream) -> stream.tell(Demand.NEXT);
      case Batch(int of, KvBatch batch, var stream) -> {
        if (of == number) {
          reopenPause = MIN_REOPEN_PAUSE;
          reader.batch(batch);
        }
        stream.tell(Demand.NEXT);
      }
      case Ended(int of) -> {
        if (of == number) {
          failed(new EOFException("the stream ended"));
        }
      }
      case Failed(int of, Throwable cause) -> {
        if (of == number) {
          failed(cause);
        }
      }
      case Reopen(int of) -> {
        if (of == number) {
          reader.reopen();
        }
      }
    }
  }

  private void failed(Throwable cause) {
    reader.failed(cause);
    context.scheduleOnce(reopenPause, context.getSelf(), asMessage.apply(new Reopen(number)));
    Duration longer = reopenPause.multipliedBy(2);
    reopenPause = longer.compareTo(MAX_REOPEN_PAUSE) < 0 ? longer : MAX_REOPEN_PAUSE;
  }
}

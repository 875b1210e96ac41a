package io.kvasir.cell.home;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.events.EventCheckpoint;
import io.kvasir.cell.events.EventState;
import io.kvasir.cell.standby.ReplicaFeed;
import io.kvasir.cell.standby.ReplicaLag;
import io.kvasir.cell.standby.ReplicaLink;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.StreamPosition;
import io.kvasir.index.HandOver;
import io.kvasir.index.Holdings;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;

/**
 * The one writer of a worker's slot: takes the batches of its event stream, in order, and applies them to
 * the index. The stream waits for each batch to be applied, so a burst slows its source and is never
 * dropped here. Changes are sent to the cell's replicas on other nodes.
 */
public final class WorkerEvents {
  public static final DispatcherSelector DISPATCHER = DispatcherSelector.fromConfig(EventStream.DISPATCHER_NAME);

  /** The messages to the actor. */
  sealed interface Message {}

  /** Stops the stream; {@code stopped} runs when nothing more will be written. */
  record Stop(Runnable stopped) implements Message {}

  /** Forgets what is known of the worker and opens its stream again. */
  enum Resynchronise implements Message { INSTANCE }

  /** Forgets what the worker holds: its process is gone. The stream goes on, as the next process's may come by it. */
  enum Forget implements Message { INSTANCE }

  /** Prompts are cut into blocks of so many tokens. */
  record CutInto(int tokens) implements Message {}

  /**
   * Hands over what the worker holds to {@code successor}, part by part, and applies nothing until {@link Resume};
   * {@code done} runs when the last part is there.
   */
  record HandOverTo(WorkerBlocks successor, Runnable done) implements Message {}

  /**
   * Starts sending to a replica: a snapshot and then every change.
   *
   * @param node where the replica is; it takes the place of an earlier one there
   * @param home the incarnation of the cell's home
   */
  record AddReplica(String node, long home, ActorRef<Standby.Message> standby, ReplicaLag lag)
      implements Message {}

  /** Stops sending to a node's replica. */
  record RemoveReplica(String node) implements Message {}

  /** A replica acknowledged frames. */
  private record ReplicaAcknowledged(Standby.Acknowledged acknowledged) implements Message {}

  /** Checks whether replicas acknowledge. */
  enum CheckReplicas implements Message { INSTANCE }

  /** The next part is to be handed over. */
  private enum NextPart implements Message { INSTANCE }

  /** Goes on with what the member holds now. */
  enum Resume implements Message { INSTANCE }

  private record OfStream(EventStream.Message message) implements Message {}

  private final ActorContext<Message> context;
  private final Member member;
  private final EventApplier applier;
  private final Runnable onStreamLost;
  private final CellServices services;
  private final WorkerReplicas replicas;
  private final EventStream<Message> stream;

  // While a snapshot of what the worker holds is sent part by part: nothing may change meanwhile.
  private @Nullable HoldingsTransfer transfer;
  private final List<Message> deferred = new ArrayList<>();

  /** The receiver of a snapshot, and what is left of it. */
  private record HoldingsTransfer(HandOver parts, Consumer<Holdings> receiver, Runnable done) {}

  private WorkerEvents(
      ActorContext<Message> context,
      Member member,
      CellServices services,
      @Nullable EventCheckpoint checkpoint,
      Runnable lost) {
    this.context = context;
    this.member = member;
    this.onStreamLost = lost;
    this.services = services;
    this.replicas =
        new WorkerReplicas(
            member, services, context.messageAdapter(Standby.Acknowledged.class, ReplicaAcknowledged::new));
    this.stream = new EventStream<>(context, OfStream::new, member, services.eventSources(), new Reader());
    PodSpec pod = member.pod();
    if (checkpoint != null && checkpoint.isWhole() && stream.resume(checkpoint.position().stream())) {
      this.applier = new EventApplier(member.cache().blocks(), pod.engine().blockSize(), replicas.feed(), checkpoint);
      updateCache();
    } else {
      if (checkpoint != null) {
        member.cache().blocks().clear();
      }
      this.applier = new EventApplier(member.cache().blocks(), pod.engine().blockSize(), replicas.feed());
      stream.open();
    }
  }

  /**
   * Applies a worker's events until it is stopped. A stream that fails or ends is opened again, and until then the
   * worker's index counts as uncertain.
   *
   * @param checkpoint what is known of the events whose blocks the member holds already; null when it holds none
   * @param lost runs when the transport loses the engine, which is often the first sign that it died
   */
  static Behavior<Message> create(
      Member member, CellServices services, @Nullable EventCheckpoint checkpoint, Runnable lost) {
    return Behaviors.setup(
        context -> {
          WorkerEvents events = new WorkerEvents(context, member, services, checkpoint, lost);
          return Behaviors.receiveMessage(events::on);
        });
  }

  /** Whether what is known of a worker can be read again; of one without events there is nothing to read. */
  static boolean canReadAgain(Member member) {
    List<EventFeed> feeds = member.pod().events();
    return feeds.isEmpty() || feeds.stream().anyMatch(EventFeed::rereadable);
  }

  private Behavior<Message> on(Message message) {
    if (transfer != null && isDeferred(message)) {
      deferred.add(message);
      return Behaviors.same();
    }
    switch (message) {
      case OfStream(var ofStream) -> stream.on(ofStream);
      case Resynchronise _ -> readAgain();
      case Forget _ -> forget();
      case CutInto(int tokens) -> {
        if (applier.cutInto(tokens)) {
          int size = applier.state().blockSize();
          boolean again = canReadAgain(member);
          context.getLog().info(
              "worker {} has blocks of {} tokens and prompts are cut into {}: what it holds is {}, cut as they are",
              member.worker().id(), size, tokens, again ? "read again" : "known from now on only");
          if (again) {
            readAgain();
          } else {
            forget();
            apply(KvBatch.ofStream(new KvEvent.GapAbandoned(0, 0)));
          }
        }
      }
      case HandOverTo begun -> transfer(begun.successor()::take, begun.done());
      case NextPart _ -> nextPart();
      case Resume _ -> {
        applier.moveTo(member.cache().blocks());
        deferred.removeIf(HandOverTo.class::isInstance);
        replicas.feed().restart();
        resume();
      }
      case AddReplica replica -> {
        replicas.add(replica.node(), replica.home(), replica.standby(), replica.lag());
        sendSnapshots();
      }
      case RemoveReplica replica -> replicas.remove(replica.node());
      case ReplicaAcknowledged(Standby.Acknowledged frames) -> {
        if (replicas.acknowledged(frames)) {
          sendSnapshots();
        }
      }
      case CheckReplicas _ -> replicas.resendOverdue();
      case Stop stop -> {
        replicas.workerRemoved();
        stream.shutdown();
        stop.stopped().run();
        return Behaviors.stopped();
      }
    }
    return Behaviors.same();
  }

  /** A stream sends one batch and waits, so there is little to hold back. */
  private static boolean isDeferred(Message message) {
    return switch (message) {
      case OfStream(var ofStream) -> !(ofStream instanceof EventStream.Started);
      case Resynchronise _, Forget _, CutInto _, HandOverTo _, AddReplica _ -> true;
      case NextPart _, Resume _, RemoveReplica _, ReplicaAcknowledged _, CheckReplicas _, Stop _ -> false;
    };
  }

  /** What comes of the stream. */
  private final class Reader implements EventStream.Reader {
    @Override
    public void batch(KvBatch batch) {
      apply(batch);
    }

    /** Until the stream is read again, events may be missing. */
    @Override
    public void failed(Throwable cause) {
      services.metrics().workers().streamFailed(member);
      member.eventStreamHealth().failed(cause);
      context
          .getLog()
          .warn("the event stream of {} failed and is opened again: {}", member.worker().id(), String.valueOf(cause));
      apply(KvBatch.ofStream(new KvEvent.Gap(applier.position().stream().sequence() + 1)));
      apply(KvBatch.ofStream(new KvEvent.Disconnected()));
    }

    @Override
    public void reopen() {
      StreamPosition last = applier.position().stream();
      if (last.sequence() != KvBatch.UNSEQUENCED && stream.resume(last)) {
        return;
      }
      if (canReadAgain(member)) {
        readAgain();
      } else {
        stream.open();
      }
    }
  }

  /** Forgets what the worker holds. Not by {@link #apply}: nothing has come of it. */
  private void forget() {
    applier.apply(KvBatch.ofStream(new KvEvent.Restarted()), System.currentTimeMillis());
    replicas.feed().batchApplied(applier.position(), 1);
    updateCache();
  }

  /** Forgets what is known of the worker and reads its events from the beginning. */
  private void readAgain() {
    applier.reset();
    replicas.feed().batchApplied(applier.position(), 1);
    updateCache();
    stream.open();
  }

  /** What decisions read of the worker's cache is as the applier has it now. */
  private void updateCache() {
    member.cache().events(applier.state());
    member.cache().hints(applier.hints());
    member.cache().groups(applier.groups());
  }

  private void transfer(Consumer<Holdings> taker, Runnable done) {
    transfer = new HoldingsTransfer(member.cache().blocks().handOver(), taker, done);
    context.getSelf().tell(NextPart.INSTANCE);
  }

  /** One part a turn: other workers' events are applied on the same threads. */
  private void nextPart() {
    HoldingsTransfer now = transfer;
    if (now == null) {
      return;
    }
    if (now.parts().hasNext()) {
      now.receiver().accept(now.parts().next());
      context.getSelf().tell(NextPart.INSTANCE);
    } else {
      now.done().run();
    }
  }

  /** Sends a snapshot to a replica that needs one. */
  private void sendSnapshots() {
    ReplicaFeed feed = replicas.feed();
    ReplicaLink link = transfer == null ? feed.awaitingSnapshot() : null;
    if (link != null) {
      services.metrics().snapshotSent();
      feed.beginSnapshot(link);
      transfer(
          part -> feed.snapshotPart(link, part),
          () -> {
            feed.endSnapshot(link, applier.salts(), applier.groups(), applier.position());
            resume();
          });
    }
  }

  private void resume() {
    transfer = null;
    List<Message> waiting = List.copyOf(deferred);
    deferred.clear();
    waiting.forEach(this::on);
    sendSnapshots();
  }

  private void apply(KvBatch batch) {
    EventState before = applier.state();
    long now = System.currentTimeMillis();
    applier.apply(batch, now);
    member.eventStreamHealth().applied(batch, now);
    replicas.feed().batchApplied(applier.position(), batch.events().size());
    EventState after = applier.state();
    updateCache();
    if (after.connected()) {
      member.onEvents();
    }
    if (before.connected() && !after.connected()) {
      onStreamLost.run();
    }
    if (before.parts() > 1 && after.parts() == 1 && before.blockSize() == after.blockSize()) {
      context.getLog().warn(
          "worker {} has blocks of {} tokens that cannot be cut as prompts are, since it shares them by more than their"
              + " tokens: nothing of it will be found; set block-size of its model to {}",
          member.worker().id(), after.blockSize(), after.blockSize());
    }
    int configured = member.pod().engine().blockSize();
    if (before.blockSize() == 0 && after.blockSize() != 0 && after.blockSize() != configured && after.parts() == 1) {
      context
          .getLog()
          .warn(
              "worker {} has blocks of {} tokens and is described with {}: nothing of it will be found unless its"
                  + " prompts are cut into as many, or a part of them; set block-size of its model to {}",
              member.worker().id(), after.blockSize(), configured, after.blockSize());
    }
  }
}

package io.kvasir.cell.home;

import io.kvasir.cell.events.EventCheckpoint;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.WorkerBlocks;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.jspecify.annotations.Nullable;

/** The actors that apply the events of a cell's members, one for each member that has any. For the cell's actor. */
final class EventActors {
  private final CellServices services;
  private final Function<Behavior<WorkerEvents.Message>, ActorRef<WorkerEvents.Message>> spawn;
  private final Consumer<Member> onStreamLost;
  private final Map<Member, ActorRef<WorkerEvents.Message>> actors = new HashMap<>();

  /**
   * None yet.
   *
   * @param spawn starts an actor
   * @param lost runs when the transport of a member's events loses its engine; on any thread
   */
  EventActors(
      CellServices services,
      Function<Behavior<WorkerEvents.Message>, ActorRef<WorkerEvents.Message>> spawn,
      Consumer<Member> lost) {
    this.services = services;
    this.spawn = spawn;
    this.onStreamLost = lost;
  }

  /**
   * Begins to apply a member's events, if its pod has any.
   *
   * @param checkpoint what is known of the events whose blocks it holds already; null when it holds none
   */
  void start(Member member, @Nullable EventCheckpoint checkpoint) {
    if (!member.pod().events().isEmpty()) {
      Runnable lost = () -> onStreamLost.accept(member);
      actors.put(member, spawn.apply(WorkerEvents.create(member, services, checkpoint, lost)));
    }
  }

  /** The members whose events are applied. */
  Set<Member> members() {
    return actors.keySet();
  }

  /** Sends a message about replicas to a member's actor, if it has one. */
  void send(Member member, WorkerEvents.Message message) {
    ActorRef<WorkerEvents.Message> actor = actors.get(member);
    if (actor != null) {
      actor.tell(message);
    }
  }

  /** Sends a message to every actor. */
  void broadcast(WorkerEvents.Message message) {
    actors.values().forEach(actor -> actor.tell(message));
  }

  /** Ends; {@code stopped} runs when nothing more is written for the member. */
  void stop(Member member, Runnable stopped) {
    // It may be in the middle of a batch.
    ActorRef<WorkerEvents.Message> actor = actors.remove(member);
    if (actor == null) {
      stopped.run();
    } else {
      actor.tell(new WorkerEvents.Stop(stopped));
    }
  }

  /**
   * Has what a member holds cut as prompts are.
   *
   * @param promptBlock tokens in a block into which prompts are cut, 0 while that is not known
   */
  void cutInto(Member member, int promptBlock) {
    ActorRef<WorkerEvents.Message> actor = actors.get(member);
    if (actor != null && promptBlock > 0) {
      actor.tell(new WorkerEvents.CutInto(promptBlock));
    }
  }

  /** Drops what is known of a member and reads its events again; returns whether it has any event stream. */
  boolean resynchronise(Member member) {
    ActorRef<WorkerEvents.Message> actor = actors.get(member);
    if (actor == null) {
      member.cache().blocks().clear();
      return false;
    }
    actor.tell(WorkerEvents.Resynchronise.INSTANCE);
    return true;
  }

  /** Drops what is known of a member whose process is gone; events of the next one are applied as they come. */
  void forget(Member member) {
    ActorRef<WorkerEvents.Message> actor = actors.get(member);
    if (actor == null) {
      member.cache().blocks().clear();
    } else {
      actor.tell(WorkerEvents.Forget.INSTANCE);
    }
  }

  /**
   * Has a member's actor hand over, and then wait until it may {@link #resume}.
   *
   * @param done runs when all is there; by whichever thread
   * @return whether the member has an actor
   */
  boolean handOver(Member member, WorkerBlocks successor, Runnable done) {
    ActorRef<WorkerEvents.Message> actor = actors.get(member);
    if (actor == null) {
      return false;
    }
    actor.tell(new WorkerEvents.HandOverTo(successor, done));
    return true;
  }

  /** Everybody goes on with what the members hold now. */
  void resume() {
    broadcast(WorkerEvents.Resume.INSTANCE);
  }
}

package io.kvasir.cell.home;

import io.kvasir.cell.standby.ReplicaFeed;
import io.kvasir.cell.standby.ReplicaFrame;
import io.kvasir.cell.standby.ReplicaLag;
import io.kvasir.cell.standby.ReplicaLink;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.worker.Member;
import java.util.HashMap;
import java.util.Map;
import org.apache.pekko.actor.typed.ActorRef;

/** The replicas of one worker on other nodes, and what they are sent of its events. One thread at a time. */
final class WorkerReplicas {
  private final Member member;
  private final CellServices services;
  private final ActorRef<Standby.Acknowledged> acknowledgements;
  private final ReplicaFeed feed = new ReplicaFeed();
  private final Map<String, ActorRef<Standby.Message>> standbys = new HashMap<>();

  /**
   * None yet.
   *
   * @param acknowledgements where replicas acknowledge frames, for {@link #acknowledged}
   */
  WorkerReplicas(Member member, CellServices services, ActorRef<Standby.Acknowledged> acknowledgements) {
    this.member = member;
    this.services = services;
    this.acknowledgements = acknowledgements;
  }

  /** What all of them are sent. */
  ReplicaFeed feed() {
    return feed;
  }

  /**
   * Adds the replica of a node, in place of an earlier one there.
   *
   * @param home the incarnation of the cell's home
   */
  void add(String node, long home, ActorRef<Standby.Message> standby, ReplicaLag lag) {
    standbys.put(node, standby);
    feed.add(node, new ReplicaLink(sender(home, standby), lag, services.clock()));
  }

  private ReplicaLink.FrameSender sender(long home, ActorRef<Standby.Message> standby) {
    return (stream, frame, finishes, payload) ->
        standby.tell(
            new ReplicaFrame(
                home,
                member.cache().blocks().slots(),
                member.worker().id(),
                member.worker().slot(),
                member.pod().engine().capacityBlocks(),
                stream,
                frame,
                finishes,
                payload.blocks(),
                payload.groups(),
                acknowledgements));
  }

  void remove(String node) {
    standbys.remove(node);
    feed.remove(node);
  }

  /** A replica acknowledged frames; returns whether it is known. */
  boolean acknowledged(Standby.Acknowledged frames) {
    ReplicaLink link = feed.link(frames.node());
    if (link == null) {
      return false;
    }
    countResent(link.acknowledged(frames.stream(), frames.next(), frames.missing()));
    return true;
  }

  /** Sends again what has not been acknowledged for long. */
  void resendOverdue() {
    feed.links().forEach(link -> countResent(link.resendOverdue()));
  }

  private void countResent(int frames) {
    if (frames > 0) {
      services.metrics().framesResent();
    }
  }

  /** Tells all of them that the worker is gone. */
  void workerRemoved() {
    standbys.forEach((node, standby) -> {
      ReplicaLink link = feed.link(node);
      if (link != null) {
        standby.tell(new Standby.WorkerRemoved(member.worker().id(), link.stream()));
      }
    });
  }
}

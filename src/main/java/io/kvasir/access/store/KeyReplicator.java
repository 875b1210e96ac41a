package io.kvasir.access.store;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.ddata.Key;
import org.apache.pekko.cluster.ddata.typed.javadsl.DistributedData;
import org.apache.pekko.cluster.ddata.typed.javadsl.Replicator;
import org.apache.pekko.cluster.ddata.typed.javadsl.ReplicatorMessageAdapter;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One per node: keeps changes of keys replicated over the cluster (Distributed Data), in buckets by id so that no
 * message grows too long, and writes them into the node's file. Until it has read every bucket from all other nodes, or
 * from most of them where all do not answer, it knows nothing.
 */
final class KeyReplicator extends AbstractBehavior<KeyReplicator.Message> {
  private static final Logger LOG = LoggerFactory.getLogger(KeyReplicator.class);
  private static final int BUCKETS = 64;

  /** Below the longest message that remoting takes, 256 KiB. */
  private static final long MAX_BUCKET_BYTES = 160 << 10;
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(1);
  private static final Duration READ_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration RETRY_INTERVAL = Duration.ofMillis(200);

  /** The messages to the replicator. */
  sealed interface Message {}

  /** Merges a change into what all nodes know. */
  record Apply(KeyChange change, ActorRef<ChangeResult> replyTo) implements Message {}

  private record Changed(KeyChanges bucket) implements Message {}

  private record Written(Apply apply, boolean everywhere) implements Message {}

  private record ReplicaCount(int nodes) implements Message {}

  private record BucketRead(int bucket, @Nullable KeyChanges found, boolean answered) implements Message {}

  private record Merged() implements Message {}

  private enum Retry implements Message { INSTANCE }

  /** The name of a bucket. */
  private static final class BucketKey extends Key<KeyChanges> {
    private static final long serialVersionUID = 1;

    BucketKey(int bucket) {
      super("kvasir-keys-" + bucket);
    }
  }

  private final ReplicatorMessageAdapter<Message, KeyChanges> replicator;
  private final TimerScheduler<Message> timers;
  private final Cluster cluster;
  private final @Nullable KeyChangesFile file;
  private final Consumer<Map<String, KeyChange>> onChange;
  private final Consumer<String> onFileFault;
  private final Set<Integer> unread = new HashSet<>();
  private KeyChanges known;
  private boolean ready;
  private boolean readMajority;

  private KeyReplicator(
      ActorContext<Message> context,
      ReplicatorMessageAdapter<Message, KeyChanges> replicator,
      TimerScheduler<Message> timers,
      KeyChanges kept,
      @Nullable KeyChangesFile file,
      boolean alone,
      Consumer<Map<String, KeyChange>> onChange,
      Consumer<String> onFileFault) {
    super(context);
    this.replicator = replicator;
    this.timers = timers;
    this.cluster = Cluster.get(context.getSystem());
    this.file = file;
    this.onChange = onChange;
    this.onFileFault = onFileFault;
    this.known = kept;
    this.ready = alone;
    for (KeyChange change : kept.byId().values()) {
      update(change, Replicator.writeLocal(), _ -> new Merged());
    }
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      unread.add(bucket);
      replicator.subscribe(new BucketKey(bucket), KeyReplicator::changed);
    }
    if (!alone) {
      findReplicas();
    }
  }

  /**
   * The replicator of a node.
   *
   * @param kept what the node's file has
   * @param alone whether no other node can know more
   * @param onChange gets all changes whenever they are others than before, and first when they are known
   * @param onFileFault gets why the file could not be written, or an empty text when it was
   */
  static Behavior<Message> create(
      KeyChanges kept,
      @Nullable KeyChangesFile file,
      boolean alone,
      Consumer<Map<String, KeyChange>> onChange,
      Consumer<String> onFileFault) {
    return DistributedData.withReplicatorMessageAdapter(
        (ReplicatorMessageAdapter<Message, KeyChanges> replicator) ->
            Behaviors.setup(
                context ->
                    Behaviors.withTimers(
                        timers ->
                            new KeyReplicator(context, replicator, timers, kept, file, alone, onChange, onFileFault))));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder().onMessage(Message.class, this::on).build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Apply apply -> apply(apply);
      case Written(Apply(KeyChange change, ActorRef<ChangeResult> replyTo), boolean everywhere) -> {
        merge(KeyChanges.NONE.with(change));
        replyTo.tell(everywhere ? ChangeResult.DONE : ChangeResult.UNCONFIRMED);
      }
      case Changed(KeyChanges bucket) -> merge(bucket);
      case ReplicaCount(int nodes) -> readIfComplete(nodes);
      case BucketRead read -> bucketRead(read);
      case Merged _ -> { }
      case Retry _ -> findReplicas();
    }
    return this;
  }

  private void apply(Apply apply) {
    if (!ready) {
      apply.replyTo().tell(ChangeResult.NOT_READY);
    } else if (bucketWith(apply.change()).bytes() > MAX_BUCKET_BYTES) {
      apply.replyTo().tell(ChangeResult.FULL);
    } else {
      update(
          apply.change(),
          new Replicator.WriteAll(WRITE_TIMEOUT),
          response -> new Written(apply, response instanceof Replicator.UpdateSuccess<KeyChanges>));
    }
  }

  /** The bucket of a change as it would be with it. */
  private KeyChanges bucketWith(KeyChange change) {
    int bucket = bucket(change.id());
    Map<String, KeyChange> within = new TreeMap<>(known.byId());
    within.keySet().removeIf(id -> bucket(id) != bucket);
    return new KeyChanges(within).with(change);
  }

  private void update(
      KeyChange change,
      Replicator.WriteConsistency consistency,
      Function<Replicator.UpdateResponse<KeyChanges>, Message> then) {
    replicator.askUpdate(
        replyTo ->
            new Replicator.Update<>(
                new BucketKey(bucket(change.id())),
                KeyChanges.NONE,
                consistency,
                replyTo,
                bucket -> bucket.with(change)),
        then);
  }

  private void merge(KeyChanges changes) {
    KeyChanges merged = known.merge(changes);
    if (!merged.equals(known)) {
      known = merged;
      if (ready) {
        publish();
      }
    }
  }

  private void publish() {
    onChange.accept(known.byId());
    if (file != null) {
      try {
        file.write(known.byId().values());
        onFileFault.accept("");
      } catch (IOException failed) {
        LOG.error("the changes of keys cannot be written to {}: {}", file, failed.toString());
        onFileFault.accept(file + " cannot be written: " + failed.getMessage());
      }
    }
  }

  /** A replica that has not met the others yet would read its own state alone, and take it for theirs. */
  private void findReplicas() {
    replicator.askReplicaCount(Replicator.GetReplicaCount::new, count -> new ReplicaCount(count.n()));
  }

  private void readIfComplete(int replicas) {
    int up = 0;
    for (Member member : cluster.state().getMembers()) {
      up += member.status().equals(MemberStatus.up()) ? 1 : 0;
    }
    if (!cluster.selfMember().status().equals(MemberStatus.up()) || replicas < up) {
      timers.startSingleTimer(Retry.INSTANCE, RETRY_INTERVAL);
      return;
    }
    Replicator.ReadConsistency consistency =
        readMajority ? new Replicator.ReadMajority(READ_TIMEOUT) : new Replicator.ReadAll(READ_TIMEOUT);
    List<Integer> open = new ArrayList<>(unread);
    for (int bucket : open) {
      replicator.askGet(
          replyTo -> new Replicator.Get<>(new BucketKey(bucket), consistency, replyTo),
          response -> switch (response) {
            case Replicator.GetSuccess<KeyChanges> success ->
                new BucketRead(bucket, success.dataValue(), true);
            case Replicator.NotFound<KeyChanges> _ -> new BucketRead(bucket, null, true);
            default -> new BucketRead(bucket, null, false);
          });
    }
  }

  private void bucketRead(BucketRead read) {
    if (!read.answered()) {
      // All nodes do not answer: most have to do, since a change is written to as many as can be reached.
      readMajority = true;
      timers.startSingleTimer(Retry.INSTANCE, RETRY_INTERVAL);
      return;
    }
    if (read.found() != null) {
      merge(read.found());
    }
    if (unread.remove(read.bucket()) && unread.isEmpty() && !ready) {
      ready = true;
      LOG.info("this node knows the keys of the others: {} have been changed by administrators", known.byId().size());
      publish();
    }
  }

  private static int bucket(String id) {
    return Math.floorMod(id.hashCode(), BUCKETS);
  }

  private static Message changed(Replicator.SubscribeResponse<KeyChanges> response) {
    return response instanceof Replicator.Changed<KeyChanges> change
        ? new Changed(change.dataValue())
        : new Merged();
  }
}

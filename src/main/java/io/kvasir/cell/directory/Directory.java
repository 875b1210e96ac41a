package io.kvasir.cell.directory;

import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Terminated;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.cluster.ddata.Key;
import org.apache.pekko.cluster.ddata.LWWMap;
import org.apache.pekko.cluster.ddata.LWWMapKey;
import org.apache.pekko.cluster.ddata.LWWRegister;
import org.apache.pekko.cluster.ddata.SelfUniqueAddress;
import org.apache.pekko.cluster.ddata.typed.javadsl.DistributedData;
import org.apache.pekko.cluster.ddata.typed.javadsl.Replicator;
import org.apache.pekko.cluster.ddata.typed.javadsl.ReplicatorMessageAdapter;

/**
 * One per node: keeps the roster of pods replicated over the cluster (Distributed Data), hands every
 * change to the cells whose home is this node, and starts cells: a cell's state is soft, so every node that sees a cell
 * in the roster starts its entity, again and again, wherever sharding has put it.
 */
public final class Directory extends AbstractBehavior<Directory.Message> {
  private static final Key<LWWMap<String, PodEntry>> PODS = LWWMapKey.create("kvasir-pods");
  private static final LWWRegister.Clock<PodEntry> OLDEST = (before, entry) -> 1;
  private static final LWWRegister.Clock<PodEntry> NEWEST = LWWRegister.defaultClock();
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(1);
  private static final Duration START_INTERVAL = Duration.ofSeconds(2);

  /** The messages to the directory. */
  public sealed interface Message {}

  /** Adds the pods of a starting node's configuration that are not known yet. */
  public record Announce(Set<PodSpec> pods) implements Message {}

  /** Adds a pod; answers with an empty text or why it was refused. */
  public record Add(PodSpec pod, ActorRef<String> replyTo) implements Message {}

  /** Makes the pods of a source exactly these; answers what was refused. */
  public record Declare(PodSource source, List<DiscoveredPod> pods, ActorRef<DeclareReply> replyTo)
      implements Message {}

  /** What was refused, in plain words. */
  public record DeclareReply(List<String> problems) {}

  /** Replaces the description of a pod, of the same name; answers whether the first was still its description. */
  public record Replace(PodSpec before, PodSpec after, ActorRef<Boolean> replyTo) implements Message {}

  /** Stops giving new requests to a pod; answers whether there is one of that name. */
  public record Drain(String pod, ActorRef<Boolean> replyTo) implements Message {}

  /** Gives a drained pod requests again; answers what became of it. */
  public record Undrain(String pod, ActorRef<Pods.UndrainResult> replyTo) implements Message {}

  /** Removes a pod; answers whether there was one of that name. */
  public record Remove(String pod, ActorRef<Boolean> replyTo) implements Message {}

  /** Sends the roster to {@code subscriber} now and at each change, until it stops. */
  public record Subscribe(ActorRef<Roster> subscriber) implements Message {}

  private record Changed(Map<String, PodEntry> pods) implements Message {}

  private record Found(Add add, Map<String, PodEntry> pods) implements Message {}

  private record Compared(Declare declare, Map<String, PodEntry> pods) implements Message {}

  private record Written(Runnable reply) implements Message {}

  private record Read(Map<String, PodEntry> pods, Runnable reply) implements Message {}

  private enum StartCells implements Message { INSTANCE }

  private final ReplicatorMessageAdapter<Message, LWWMap<String, PodEntry>> replicator;
  private final SelfUniqueAddress self;
  private final CurrentRoster published;
  private final Consumer<String> startCell;
  private final int maxWorkers;
  private final Set<ActorRef<Roster>> subscribers = new HashSet<>();

  private final Set<String> adding = new HashSet<>();
  private Map<String, PodEntry> pods = Map.of();

  private Directory(
      ActorContext<Message> context,
      ReplicatorMessageAdapter<Message, LWWMap<String, PodEntry>> replicator,
      TimerScheduler<Message> timers,
      CurrentRoster published,
      Consumer<String> wake,
      int mostWorkers) {
    super(context);
    this.replicator = replicator;
    this.self = DistributedData.get(context.getSystem()).selfUniqueAddress();
    this.published = published;
    this.startCell = wake;
    this.maxWorkers = mostWorkers;
    replicator.subscribe(PODS, Directory::changed);
    timers.startTimerWithFixedDelay(StartCells.INSTANCE, START_INTERVAL);
  }

  /**
   * The directory of a node.
   *
   * @param published where threads of this node read the roster
   * @param wake starts a cell's entity if it is not running; called for each cell every few seconds
   * @param mostWorkers a cell may have
   */
  public static Behavior<Message> create(CurrentRoster published, Consumer<String> wake, int mostWorkers) {
    return DistributedData.withReplicatorMessageAdapter(
        (ReplicatorMessageAdapter<Message, LWWMap<String, PodEntry>> replicator) ->
            Behaviors.setup(
                context ->
                    Behaviors.withTimers(
                        timers -> new Directory(context, replicator, timers, published, wake, mostWorkers))));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Message.class, this::on)
        .onSignal(
            Terminated.class,
            stopped -> {
              subscribers.removeIf(subscriber -> subscriber.path().equals(stopped.getRef().path()));
              return this;
            })
        .build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Announce announce -> announce(announce.pods());
      case Add add -> read(now -> new Found(add, now));
      case Found found -> {
        publish(found.pods());
        add(found.add());
      }
      case Declare declare -> read(now -> new Compared(declare, now));
      case Compared compared -> declare(compared.declare(), compared.pods());
      case Replace replace -> replace(replace);
      case Drain drain -> drain(drain);
      case Undrain undrain -> undrain(undrain);
      case Remove remove -> remove(remove);
      case Subscribe subscribe -> subscribe(subscribe.subscriber());
      case Changed changed -> publish(changed.pods());
      case Written written -> read(now -> new Read(now, written.reply()));
      case Read read -> {
        publish(read.pods());
        read.reply().run();
      }
      case StartCells ignored -> published.get().cells().forEach(startCell);
    }
    return this;
  }

  /** A node that starts does not know what the others have: whatever that is, it is newer than what is announced. */
  private void announce(Set<PodSpec> announced) {
    List<PodEntry> unknown = new ArrayList<>();
    for (PodSpec pod : announced) {
      if (!pods.containsKey(pod.name())) {
        unknown.add(new PodEntry(pod, PodSource.CONFIG));
      }
    }
    if (!unknown.isEmpty()) {
      update(
          map -> {
            List<PodEntry> missing = unknown.stream().filter(pod -> !map.contains(pod.spec().name())).toList();
            return put(map, missing, OLDEST);
          },
          () -> {});
    }
  }

  private void add(Add add) {
    PodSpec pod = add.pod();
    if (pods.containsKey(pod.name()) || !adding.add(pod.name())) {
      add.replyTo().tell("a pod named '" + pod.name() + "' exists; choose another name or remove it first");
    } else {
      put(
          new PodEntry(pod, PodSource.ADMIN),
          () -> {
            adding.remove(pod.name());
            add.replyTo().tell("");
          });
    }
  }

  private void declare(Declare declare, Map<String, PodEntry> now) {
    DeclarationDiff declared = DeclarationDiff.of(declare.source(), declare.pods(), now);
    DeclareReply refused = new DeclareReply(declared.refused());
    if (declared.changesNothing()) {
      declare.replyTo().tell(refused);
    } else {
      update(
          map -> {
            LWWMap<String, PodEntry> changed = map;
            for (String name : declared.removed()) {
              changed = changed.remove(self, name);
            }
            return put(changed, declared.put(), NEWEST);
          },
          () -> declare.replyTo().tell(refused));
    }
  }

  private void replace(Replace replace) {
    PodEntry entry = pods.get(replace.before().name());
    if (entry == null || !entry.spec().equals(replace.before())) {
      replace.replyTo().tell(false);
    } else {
      put(entry.describedAs(replace.after()), () -> replace.replyTo().tell(true));
    }
  }

  private void drain(Drain drain) {
    PodEntry entry = pods.get(drain.pod());
    if (entry == null) {
      drain.replyTo().tell(false);
    } else {
      put(entry.asDrained(), () -> drain.replyTo().tell(true));
    }
  }

  private void undrain(Undrain undrain) {
    PodEntry entry = pods.get(undrain.pod());
    if (entry == null) {
      undrain.replyTo().tell(Pods.UndrainResult.UNKNOWN);
    } else {
      Pods.UndrainResult done = entry.withheld() ? Pods.UndrainResult.WITHHELD : Pods.UndrainResult.DONE;
      put(entry.asUndrained(), () -> undrain.replyTo().tell(done));
    }
  }

  private void remove(Remove remove) {
    if (pods.containsKey(remove.pod())) {
      update(map -> map.remove(self, remove.pod()), () -> remove.replyTo().tell(true));
    } else {
      remove.replyTo().tell(false);
    }
  }

  private void put(PodEntry entry, Runnable reply) {
    update(map -> put(map, List.of(entry), NEWEST), reply);
  }

  /** Puts entries in, those that have no cell yet with one. */
  private LWWMap<String, PodEntry> put(
      LWWMap<String, PodEntry> map, List<PodEntry> entries, LWWRegister.Clock<PodEntry> clock) {
    Map<String, PodEntry> all = new HashMap<>(map.getEntries());
    entries.forEach(entry -> all.put(entry.spec().name(), entry));
    Map<String, PodEntry> placed = Assignment.of(all, maxWorkers);
    LWWMap<String, PodEntry> changed = map;
    for (PodEntry entry : entries) {
      String name = entry.spec().name();
      changed = changed.put(self, name, placed.getOrDefault(name, entry), clock);
    }
    return changed;
  }

  /**
   * Writes to most nodes, so that the next to ask elsewhere finds it; where most cannot be reached, gossip
   * carries it later: a roster must be changeable on a minority side, too. What was written is read back
   * before the reply is sent, so that its receiver finds it in the published roster.
   */
  private void update(
      Function<LWWMap<String, PodEntry>, LWWMap<String, PodEntry>> change, Runnable reply) {
    replicator.askUpdate(
        replyTo ->
            new Replicator.Update<>(
                PODS, LWWMap.empty(), new Replicator.WriteMajority(WRITE_TIMEOUT), replyTo, change),
        response -> new Written(reply));
  }

  private void read(Function<Map<String, PodEntry>, Message> then) {
    replicator.askGet(
        replyTo -> new Replicator.Get<>(PODS, Replicator.readLocal(), replyTo),
        response ->
            then.apply(
                response instanceof Replicator.GetSuccess<LWWMap<String, PodEntry>> found
                    ? found.dataValue().getEntries()
                    : Map.of()));
  }

  private void subscribe(ActorRef<Roster> subscriber) {
    if (subscribers.add(subscriber)) {
      getContext().watch(subscriber);
    }
    subscriber.tell(published.get());
  }

  private void publish(Map<String, PodEntry> changed) {
    if (changed.equals(pods)) {
      return;
    }
    pods = Map.copyOf(changed);
    Map<String, PodEntry> placed = Assignment.of(pods, maxWorkers);
    Roster roster = new Roster(placed);
    published.set(roster);
    subscribers.forEach(subscriber -> subscriber.tell(roster));
    roster.cells().forEach(startCell);
    keepMoved(placed);
  }

  /**
   * Nodes that gave cells to pods at the same moment may have given one more than it takes. All of them see the same
   * pods leave it; that is written down, so that these do not return when there is room again.
   */
  private void keepMoved(Map<String, PodEntry> placed) {
    Map<String, PodEntry> seen = pods;
    List<PodEntry> moved =
        placed.values().stream().filter(pod -> !pod.equals(seen.get(pod.spec().name()))).toList();
    if (!moved.isEmpty()) {
      update(
          map -> {
            Map<String, PodEntry> now = map.getEntries();
            LWWMap<String, PodEntry> changed = map;
            for (PodEntry pod : moved) {
              String name = pod.spec().name();
              if (Objects.equals(now.get(name), seen.get(name))) {
                changed = changed.put(self, name, pod);
              }
            }
            return changed;
          },
          () -> {});
    }
  }

  private static Message changed(Replicator.SubscribeResponse<LWWMap<String, PodEntry>> response) {
    return response instanceof Replicator.Changed<LWWMap<String, PodEntry>> change
        ? new Changed(change.dataValue().getEntries())
        : new Changed(Map.of());
  }
}

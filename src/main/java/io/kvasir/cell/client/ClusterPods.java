package io.kvasir.cell.client;

import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.japi.function.Function;

/** The roster as this node has it, changed through its directory, whose reply is waited for. Thread-safe. */
final class ClusterPods implements Pods {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final ActorSystem<?> system;
  private final CurrentRoster roster;
  private final ActorRef<Directory.Message> directory;

  ClusterPods(ActorSystem<?> system, CurrentRoster roster, ActorRef<Directory.Message> directory) {
    this.system = system;
    this.roster = roster;
    this.directory = directory;
  }

  @Override
  public List<PodSpec> all() {
    return roster.get().specs();
  }

  @Override
  public List<PodSpec> of(PodSource source) {
    return roster.get().specs(source);
  }

  @Override
  public List<DiscoveredPod> declaredBy(PodSource source) {
    return roster.get().pods().stream()
        .filter(pod -> pod.source() == source)
        .map(pod -> new DiscoveredPod(pod.spec(), pod.withheld()))
        .toList();
  }

  @Override
  public void add(PodSpec pod) {
    String refused = ask(replyTo -> new Directory.Add(pod, replyTo));
    if (!refused.isEmpty()) {
      throw new IllegalArgumentException(refused);
    }
  }

  @Override
  public List<String> declare(PodSource source, List<DiscoveredPod> pods) {
    return this.<Directory.DeclareReply>ask(replyTo -> new Directory.Declare(source, pods, replyTo)).problems();
  }

  @Override
  public void announce(PodSpec pod) {
    directory.tell(new Directory.Announce(Set.of(pod)));
  }

  @Override
  public boolean replace(PodSpec before, PodSpec after) {
    return this.<Boolean>ask(replyTo -> new Directory.Replace(before, after, replyTo));
  }

  @Override
  public boolean drain(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Drain(pod, replyTo));
  }

  @Override
  public UndrainResult undrain(String pod) {
    return this.<UndrainResult>ask(replyTo -> new Directory.Undrain(pod, replyTo));
  }

  @Override
  public boolean remove(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Remove(pod, replyTo));
  }

  private <T> T ask(Function<ActorRef<T>, Directory.Message> message) {
    return AskPattern.<Directory.Message, T>ask(directory, message, TIMEOUT, system.scheduler())
        .toCompletableFuture()
        .join();
  }
}

package io.kvasir.cell.client;

import io.kvasir.cell.Cells;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.directory.Directory;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.japi.function.Function;

/** Changes the roster through this node's directory, and waits for its reply. Thread-safe. */
final class DirectoryClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final ActorSystem<?> system;
  private final ActorRef<Directory.Message> directory;

  DirectoryClient(ActorSystem<?> system, ActorRef<Directory.Message> directory) {
    this.system = system;
    this.directory = directory;
  }

  void add(PodSpec pod) {
    String refused = ask(replyTo -> new Directory.Add(pod, replyTo));
    if (!refused.isEmpty()) {
      throw new IllegalArgumentException(refused);
    }
  }

  List<String> declare(PodSource source, List<DiscoveredPod> pods) {
    return this.<Directory.DeclareReply>ask(replyTo -> new Directory.Declare(source, pods, replyTo)).problems();
  }

  void announce(PodSpec pod) {
    directory.tell(new Directory.Announce(Set.of(pod)));
  }

  boolean replace(PodSpec before, PodSpec after) {
    return this.<Boolean>ask(replyTo -> new Directory.Replace(before, after, replyTo));
  }

  boolean drain(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Drain(pod, replyTo));
  }

  Cells.UndrainResult undrain(String pod) {
    return this.<Cells.UndrainResult>ask(replyTo -> new Directory.Undrain(pod, replyTo));
  }

  boolean remove(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Remove(pod, replyTo));
  }

  private <T> T ask(Function<ActorRef<T>, Directory.Message> message) {
    return AskPattern.<Directory.Message, T>ask(directory, message, TIMEOUT, system.scheduler())
        .toCompletableFuture()
        .join();
  }
}

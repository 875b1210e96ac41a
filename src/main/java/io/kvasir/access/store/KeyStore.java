package io.kvasir.access.store;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.jspecify.annotations.Nullable;

/**
 * The changes of keys that all nodes know: what one node writes, every other gets, directly within a second and by
 * gossip after that; a node that joins reads them from all others before it knows any. Where a file is named, each node
 * keeps there what it knows and starts from it, so that changes survive a restart of all nodes. Thread-safe; its actor
 * ends with the system.
 *
 * <p>A node that is cut off goes on with what it knew: a key that is disabled on the other side is accepted on this one
 * until the node rejoins, which takes seconds after the network heals; {@code kvasir.cluster.minority = refuse} rules
 * that out. What was changed on the node meanwhile reaches the others if the node has a file.
 */
public final class KeyStore {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final ActorSystem<?> system;
  private final ActorRef<KeyReplicator.Message> replicator;
  private final AtomicReference<String> fileFault;

  private KeyStore(
      ActorSystem<?> system, ActorRef<KeyReplicator.Message> replicator, AtomicReference<String> fileFault) {
    this.system = system;
    this.replicator = replicator;
    this.fileFault = fileFault;
  }

  /**
   * Starts a node's store.
   *
   * @param file where this node keeps changes, null for memory only
   * @param alone whether the node forms a cluster of its own, so that nobody else knows more
   * @param onChange gets all changes by the key's id, first when they are known and then whenever they change; called
   *     by one thread at a time, and the first time of a node that is alone before this returns
   * @throws IOException when the file cannot be read
   */
  public static KeyStore start(
      ActorSystem<?> system, @Nullable Path file, boolean alone, Consumer<Map<String, KeyChange>> onChange)
      throws IOException {
    KeyChangesFile changesFile = file == null ? null : new KeyChangesFile(file);
    List<KeyChange> kept = changesFile == null ? List.of() : changesFile.read();
    KeyChanges known = kept.stream().reduce(KeyChanges.NONE, KeyChanges::with, KeyChanges::merge);
    if (alone) {
      onChange.accept(known.byId());
    }
    AtomicReference<String> fileFault = new AtomicReference<>("");
    ActorRef<KeyReplicator.Message> replicator =
        system.systemActorOf(
            KeyReplicator.create(known, changesFile, alone, onChange, fileFault::set),
            "kvasir-keys",
            // It writes the file.
            DispatcherSelector.blocking());
    return new KeyStore(system, replicator, fileFault);
  }

  /** Merges a change into what all nodes know. When it completes, this node goes by it. */
  public CompletionStage<ChangeResult> change(KeyChange change) {
    return AskPattern.ask(
        replicator, replyTo -> new KeyReplicator.Apply(change, replyTo), TIMEOUT, system.scheduler());
  }

  /** Why changes could not be written into the file, empty when they were. */
  public Optional<String> fileFault() {
    String fault = Objects.requireNonNull(fileFault.get());
    return fault.isEmpty() ? Optional.empty() : Optional.of(fault);
  }
}

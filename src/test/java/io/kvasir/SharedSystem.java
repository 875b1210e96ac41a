package io.kvasir;

import java.util.Objects;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;

/** An actor system of the classes of one fixture, several of which run at a time: it ends with the last of them. */
public final class SharedSystem {
  private final String name;

  private int classes;
  private @Nullable ActorSystem<Void> system;

  public SharedSystem(String name) {
    this.name = name;
  }

  public synchronized void begin() {
    if (classes++ == 0) {
      system = ActorSystem.create(Behaviors.empty(), name);
    }
  }

  public synchronized void end() {
    if (--classes == 0) {
      get().terminate();
      get().getWhenTerminated().toCompletableFuture().join();
    }
  }

  public synchronized ActorSystem<Void> get() {
    return Objects.requireNonNull(system);
  }
}

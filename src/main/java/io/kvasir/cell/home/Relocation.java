package io.kvasir.cell.home;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a cell is to go from its home. It goes only where a replica is warm, so between the request and the move lies
 * the time that this takes.
 *
 * <p>{@link Staying} until the cell is requested elsewhere ({@link Balancing}), and again when that node leaves the
 * cluster or the move takes too long; {@link Leaving} from the time that its home's node is about to leave, without a
 * way back.
 */
sealed interface Relocation {
  /** A move for balance that has not come about after this long is forgotten. */
  Duration TIMEOUT = Duration.ofSeconds(60);

  /** It stays where it is. */
  record Staying() implements Relocation {
    @Override
    public @Nullable String target() {
      return null;
    }

    @Override
    public Relocation requestedOn(String node, long now) {
      return new Balancing(node, now);
    }

    @Override
    public Relocation check(Collection<String> nodes, long now) {
      return this;
    }

    @Override
    public @Nullable String destination(List<String> standbys, Set<String> warm) {
      return null;
    }
  }

  /**
   * It is to go to another node, for balance.
   *
   * @param sinceNanos when it was requested there
   */
  record Balancing(String target, long sinceNanos) implements Relocation {
    @Override
    public Relocation requestedOn(String node, long now) {
      return node.equals(target) ? this : new Balancing(node, now);
    }

    @Override
    public Relocation check(Collection<String> nodes, long now) {
      return nodes.contains(target) && now - sinceNanos <= TIMEOUT.toNanos() ? this : new Staying();
    }

    @Override
    public @Nullable String destination(List<String> standbys, Set<String> warm) {
      return warm.contains(target) ? target : null;
    }
  }

  /**
   * Its node is about to leave: it is to go, however long that takes.
   *
   * @param target the node on which it was requested; null when any will do
   */
  record Leaving(@Nullable String target) implements Relocation {
    @Override
    public Relocation requestedOn(String node, long now) {
      return new Leaving(node);
    }

    @Override
    public Relocation check(Collection<String> nodes, long now) {
      return target == null || nodes.contains(target) ? this : new Leaving(null);
    }

    @Override
    public @Nullable String destination(List<String> standbys, Set<String> warm) {
      return target == null
          ? standbys.stream().filter(warm::contains).findFirst().orElse(null)
          : warm.contains(target) ? target : null;
    }
  }

  /** The node on which it is requested, null when there is none. */
  @Nullable String target();

  /** It is requested on a node. */
  Relocation requestedOn(String node, long now);

  /** Its node is about to leave. */
  default Relocation leave() {
    return new Leaving(target());
  }

  /** The state now, of the nodes that there are; to be called again and again. */
  Relocation check(Collection<String> nodes, long now);

  /**
   * The node to which it can go now; null while it stays, or no replica is warm where it is to go.
   *
   * @param standbys the nodes that are to have replicas, the first of them first
   * @param warm those of them that could take over
   */
  @Nullable String destination(List<String> standbys, Set<String> warm);
}

package io.kvasir.sim.publisher;

import io.kvasir.sim.publisher.CacheEvent.Cleared;
import io.kvasir.sim.publisher.CacheEvent.Removed;
import io.kvasir.sim.publisher.CacheEvent.Stored;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a rank's published events say that it holds, and the snapshot of it: an {@code AllBlocksCleared}, a store of
 * every block, parents first, and the removal of those that are gone and were only needed for what follows them. As
 * the tracker of vLLM's pull request 50134; how that cuts its messages is not told there but by their number for a
 * million blocks, 16. Not thread-safe.
 */
final class PublishedCache {
  private static final int EVENTS_PER_MESSAGE = 1024;
  private static final int BLOCKS_PER_EVENT = 64;

  /** A block's name: connectors have names of their own for their tier. */
  private record Name(String medium, long key) {}

  /** A block and why it is kept: copies that are there, and blocks that follow it. */
  private static final class Block {
    final Name name;
    final @Nullable Name parent;
    final int[] tokens;
    final @Nullable String lora;
    final @Nullable String salt;
    int copies;
    int children;

    Block(Name name, @Nullable Name parent, int[] tokens, Stored stored) {
      this.name = name;
      this.parent = parent;
      this.tokens = tokens;
      this.lora = stored.lora();
      this.salt = stored.salt();
    }

    /** Whether a store may go on with this block after another. */
    boolean continues(Block before) {
      return before.name.equals(parent)
          && tokens.length == before.tokens.length
          && Objects.equals(lora, before.lora)
          && Objects.equals(salt, before.salt);
    }
  }

  /** In the order of their first store: a block is kept while another follows it, so parents come first. */
  private final Map<Name, Block> blocks = new LinkedHashMap<>();

  /** Takes what is published next. */
  void apply(List<CacheEvent> events) {
    for (CacheEvent event : events) {
      switch (event) {
        case Stored stored -> store(stored);
        case Removed removed -> {
          for (long key : removed.keys()) {
            Block block = blocks.get(new Name(removed.medium(), key));
            if (block != null && block.copies > 0) {
              block.copies--;
              drop(block);
            }
          }
        }
        case CacheEvent.StoredInGroup _, CacheEvent.RemovedFromGroup _ ->
            throw new IllegalArgumentException("snapshots have the prefix only");
        case Cleared() -> blocks.clear();
      }
    }
  }

  private void store(Stored stored) {
    Name parent = stored.parent() == null ? null : new Name(stored.medium(), stored.parent());
    for (int i = 0; i < stored.keys().length; i++) {
      Name name = new Name(stored.medium(), stored.keys()[i]);
      Block block = blocks.get(name);
      if (block == null) {
        int size = stored.blockSize();
        block = new Block(name, parent, Arrays.copyOfRange(stored.tokens(), i * size, (i + 1) * size), stored);
        blocks.put(name, block);
        Block before = parent == null ? null : blocks.get(parent);
        if (before != null) {
          before.children++;
        }
      }
      block.copies++;
      parent = name;
    }
  }

  private void drop(Block block) {
    for (Block gone = block; gone != null && gone.copies == 0 && gone.children == 0; ) {
      blocks.remove(gone.name);
      gone = gone.parent == null ? null : blocks.get(gone.parent);
      if (gone != null) {
        gone.children--;
      }
    }
  }

  /** The events of each message of a snapshot. */
  List<List<CacheEvent>> snapshot() {
    List<CacheEvent> events = new ArrayList<>();
    events.add(new Cleared());
    List<Block> run = new ArrayList<>();
    for (Block block : blocks.values()) {
      if (!run.isEmpty() && (run.size() == BLOCKS_PER_EVENT || !block.continues(run.getLast()))) {
        events.add(stored(run));
        run.clear();
      }
      run.add(block);
    }
    if (!run.isEmpty()) {
      events.add(stored(run));
    }
    List<CacheEvent> removals = new ArrayList<>();
    for (Block block : blocks.values()) {
      for (int more = 1; more < block.copies; more++) {
        events.add(stored(List.of(block)));
      }
      if (block.copies == 0) {
        removals.add(new Removed(new long[] {block.name.key}, block.name.medium));
      }
    }
    events.addAll(removals);
    List<List<CacheEvent>> messages = new ArrayList<>();
    for (int from = 0; from < events.size(); from += EVENTS_PER_MESSAGE) {
      messages.add(events.subList(from, Math.min(events.size(), from + EVENTS_PER_MESSAGE)));
    }
    return messages;
  }

  private static Stored stored(List<Block> run) {
    Block first = run.getFirst();
    int size = first.tokens.length;
    int[] tokens = new int[run.size() * size];
    for (int i = 0; i < run.size(); i++) {
      System.arraycopy(run.get(i).tokens, 0, tokens, i * size, size);
    }
    return new Stored(
        first.parent == null ? null : first.parent.key,
        run.stream().mapToLong(block -> block.name.key).toArray(),
        tokens, size, first.lora, first.salt, first.name.medium);
  }
}

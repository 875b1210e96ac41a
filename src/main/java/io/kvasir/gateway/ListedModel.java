package io.kvasir.gateway;

import io.kvasir.cell.LearntEngines.LearntModel;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the engines of a model or LoRA adapter tell of it, taken together.
 *
 * @param roots the directories and repositories that it was loaded from
 * @param parents the models that the adapter belongs to
 * @param contextLength tokens of a prompt and its answer together that each of them takes, 0 where none tells
 */
record ListedModel(Set<String> roots, Set<String> parents, int contextLength) {
  /** Nothing. */
  static final ListedModel NONE = new ListedModel(Set.of(), Set.of(), 0);

  static ListedModel of(LearntModel model) {
    return new ListedModel(setOf(model.root()), setOf(model.parent()), model.contextLength());
  }

  /** With what another engine tells. */
  ListedModel and(ListedModel other) {
    int shorter = Math.min(contextLength, other.contextLength);
    return new ListedModel(
        union(roots, other.roots), union(parents, other.parents),
        shorter == 0 ? Math.max(contextLength, other.contextLength) : shorter);
  }

  /** Where it was loaded from, if those that tell agree. */
  Optional<String> root() {
    return onlyOne(roots);
  }

  /** The model that the adapter belongs to, if those that tell agree. */
  Optional<String> parent() {
    return onlyOne(parents);
  }

  private static Set<String> setOf(@Nullable String member) {
    return member == null ? Set.of() : Set.of(member);
  }

  private static Set<String> union(Set<String> these, Set<String> those) {
    if (these.containsAll(those)) {
      return these;
    }
    Set<String> both = new HashSet<>(these);
    both.addAll(those);
    return both;
  }

  private static Optional<String> onlyOne(Set<String> members) {
    return members.size() == 1 ? members.stream().findAny() : Optional.empty();
  }
}

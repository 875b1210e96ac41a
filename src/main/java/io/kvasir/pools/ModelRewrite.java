package io.kvasir.pools;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which models the requests of a pool get in place of those that they name. Immutable.
 *
 * @param name by which operators know it
 * @param pool the pool's {@link Pool#id}
 * @param rules in the order in which they count
 */
public record ModelRewrite(String name, String pool, List<Rule> rules) {
  /** Copies what it is given. */
  public ModelRewrite {
    rules = List.copyOf(rules);
  }

  /**
   * The targets of some names.
   *
   * @param models names that requests call a model by; none for every name
   * @param targets one of which a request gets
   */
  public record Rule(Set<String> models, List<Target> targets) {
    /** Copies what it is given; there has to be a target. */
    public Rule {
      models = Set.copyOf(models);
      targets = List.copyOf(targets);
      if (targets.isEmpty()) {
        throw new IllegalArgumentException("a rule without targets");
      }
    }

    /**
     * One of the targets.
     *
     * @param random uniform in 0..1, 1 excluded
     */
    String target(double random) {
      long sum = targets.stream().mapToLong(Target::weight).sum();
      long left = (long) (random * sum);
      for (Target target : targets) {
        left -= target.weight();
        if (left < 0) {
          return target.model();
        }
      }
      return targets.getLast().model();
    }
  }

  /**
   * A model that requests get.
   *
   * @param model its name
   * @param weight its share among the targets of a rule, at least 1
   */
  public record Target(String model, int weight) {
    /** Refuses a share that nobody gets. */
    public Target {
      if (weight < 1) {
        throw new IllegalArgumentException("a weight has to be at least 1, not " + weight);
      }
    }
  }

  /**
   * The model that a request gets.
   *
   * @param rewrite the {@link ModelRewrite#name} of what said so
   * @param exact whether by a rule for the very name that the request has, and not by one for every name
   * @param model its name, which may be the one that the request has
   */
  public record Choice(String rewrite, boolean exact, String model) {}

  /** What the first rule for a model says, null without one; of one for every name with {@code exact} false. */
  static @Nullable Choice first(
      List<ModelRewrite> rewrites, String pool, String model, boolean exact, double random) {
    for (ModelRewrite rewrite : rewrites) {
      if (rewrite.pool.equals(pool)) {
        for (Rule rule : rewrite.rules) {
          if (exact ? rule.models.contains(model) : rule.models.isEmpty()) {
            return new Choice(rewrite.name, exact, rule.target(random));
          }
        }
      }
    }
    return null;
  }
}

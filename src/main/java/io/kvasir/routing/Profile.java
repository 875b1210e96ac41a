package io.kvasir.routing;

import java.util.List;
import java.util.function.Supplier;

/**
 * A compiled profile: a named composition of plugins, proven to fit together. It makes the plugins anew for
 * every {@link Selector}, since some keep state (whose turn it is) that belongs to one fleet. Immutable.
 */
public final class Profile {
  private final String name;
  private final String description;
  private final List<Use<Preparer>> preparers;
  private final List<Use<Filter>> filters;
  private final List<Use<Scorer>> scorers;
  private final Use<Picker> picker;
  private final Executor executor;

  Profile(
      String name,
      String description,
      List<Use<Preparer>> preparers,
      List<Use<Filter>> filters,
      List<Use<Scorer>> scorers,
      Use<Picker> picker,
      Use<Executor> executor) {
    this.name = name;
    this.description = description;
    this.preparers = List.copyOf(preparers);
    this.filters = List.copyOf(filters);
    this.scorers = List.copyOf(scorers);
    this.picker = picker;
    this.executor = executor.make.get();
  }

  /** Its name: lower case, digits and hyphens, at most 40 characters, so safe in headers and labels. */
  public String name() {
    return name;
  }

  /** What it does, in the words of its author. */
  public String description() {
    return description;
  }

  /** How its plans are carried out. */
  public Executor executor() {
    return executor;
  }

  Preparer[] preparers() {
    return preparers.stream().map(use -> use.make.get()).toArray(Preparer[]::new);
  }

  Filter[] filters() {
    return filters.stream().map(use -> use.make.get()).toArray(Filter[]::new);
  }

  List<String> filterNames() {
    return filters.stream().map(Use::name).toList();
  }

  ScoreSum scores() {
    return new ScoreSum(
        scorers.stream()
            .map(use -> new ScoreSum.Term(use.name, use.make.get(), use.weight, use.normalisation))
            .toList());
  }

  Picker picker() {
    return picker.make.get();
  }

  @Override
  public String toString() {
    return name;
  }

  /** One mention of a plugin; weight and normalisation matter to scorers. */
  record Use<P extends Plugin>(
      String name, Supplier<P> make, double weight, ScoreSum.Normalisation normalisation) {}
}

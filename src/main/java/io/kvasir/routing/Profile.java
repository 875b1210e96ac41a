package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A compiled profile: a named composition of plugins, proven to fit together. It makes filters, scorers and picker anew
 * for every {@link Selector}, since some keep state (whose turn it is) that belongs to one fleet; its preparers it has
 * itself. Immutable.
 */
public final class Profile {
  private final String name;
  private final String description;
  private final ConfigObject written;
  private final List<Use<Preparer>> preparers;
  private final List<Use<Filter>> filters;
  private final List<Use<Scorer>> scorers;
  private final Use<Picker> picker;
  private final Use<Executor> execution;
  private final Executor executor;
  private final Preparation preparation;

  Profile(
      String name,
      String description,
      ConfigObject written,
      List<Use<Preparer>> preparers,
      List<Use<Filter>> filters,
      List<Use<Scorer>> scorers,
      Use<Picker> picker,
      Use<Executor> executor) {
    this.name = name;
    this.description = description;
    this.written = written;
    this.preparers = List.copyOf(preparers);
    this.filters = List.copyOf(filters);
    this.scorers = List.copyOf(scorers);
    this.picker = picker;
    this.execution = executor;
    this.executor = executor.make();
    this.preparation = new Preparation(preparers.stream().map(Use::make).toList(), readAfterPreparing());
  }

  private Set<Slot<?>> readAfterPreparing() {
    Set<Slot<?>> read = new HashSet<>();
    uses().filter(use -> use.stage() != Stage.PREPARE).forEach(use -> read.addAll(use.proven().reads()));
    return read;
  }

  private Stream<Use<?>> uses() {
    return Stream.of(preparers, filters, scorers, List.of(picker), List.of(execution)).flatMap(List::stream);
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

  /** Its plugins, in the order they run. */
  public List<Part> parts() {
    return uses().map(Use::part).toList();
  }

  /** Whether {@link #prepare} finds out anything that somebody asks for: a request that it does not can skip it. */
  public boolean preparesOnArrival() {
    return preparation.isOfUse();
  }

  /**
   * Prepares a request on the node where it arrived. May wait, as long as its preparers do.
   *
   * @param context with {@link Slots#FACTS}, tokens and chain
   * @return what crosses to the request's cell
   * @throws UnfitRequestException when the client says something of its routing that makes no sense
   */
  public Prepared prepare(RoutingContext context) {
    return preparation.prepare(context);
  }

  /** Fills what preparers should have filled and did not. Never waits. */
  void complete(RoutingContext context) {
    preparation.complete(context);
  }

  /** Whether the other is composed of the same plugins with the same parameters, and is named and described alike. */
  boolean isWrittenAs(Profile other) {
    return name.equals(other.name) && written.equals(other.written);
  }

  Filter[] filters() {
    return filters.stream().map(Use::make).toArray(Filter[]::new);
  }

  List<String> filterNames() {
    return filters.stream().map(Use::name).toList();
  }

  ScoreSum scores() {
    return new ScoreSum(
        scorers.stream()
            .map(use -> new ScoreSum.Term(use.name, use.make(), use.weight, use.normalisation))
            .toList());
  }

  Picker picker() {
    return picker.make();
  }

  @Override
  public String toString() {
    return name;
  }

  /**
   * One plugin of a profile.
   *
   * @param stage when it runs
   * @param plugin its name
   * @param where file and line that mention it
   * @param parameters those that are written, with their values as plain objects
   * @param weight a scorer's weight, 1 for others
   * @param normalise how a scorer's numbers are brought to a common scale: {@code none} or {@code min-max}
   * @param reads names of the slots it reads
   * @param writes names of the slots it fills
   */
  public record Part(
      Stage stage,
      String plugin,
      String where,
      Map<String, Object> parameters,
      double weight,
      String normalise,
      List<String> reads,
      List<String> writes) {}

  /** One mention of a plugin; weight and normalisation matter to scorers. */
  record Use<P extends Plugin>(
      String name,
      Stage stage,
      String where,
      P proven,
      Function<Parameters, ? extends Plugin> factory,
      Class<P> kind,
      ConfigObject parameters,
      double weight,
      ScoreSum.Normalisation normalisation) {
    P make() {
      return kind.cast(factory.apply(new Parameters(parameters, null)));
    }

    Part part() {
      return new Part(
          stage,
          name,
          where,
          parameters.unwrapped(),
          weight,
          Parameters.written(normalisation),
          names(proven.reads()),
          names(proven.writes()));
    }

    private static List<String> names(Set<Slot<?>> slots) {
      return slots.stream().map(Slot::name).sorted().toList();
    }
  }
}

package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A compiled profile: a named composition of plugins, proven to fit together, or of such profiles whose workers share
 * the work of a request. It makes filters, scorers and picker anew for every {@link Selector}, since some keep state
 * (whose turn it is) that belongs to one fleet; its preparers it has itself. Immutable.
 */
public final class Profile {
  private final String name;
  private final String description;
  private final ConfigObject source;
  private final @Nullable Stages stages;
  private final @Nullable Composition composition;
  private final PreparerStage preparerStage;

  private Profile(
      String name,
      String description,
      ConfigObject written,
      @Nullable Stages stages,
      @Nullable Composition composition,
      PreparerStage preparation) {
    this.name = name;
    this.description = description;
    this.source = written;
    this.stages = stages;
    this.composition = composition;
    this.preparerStage = preparation;
  }

  static Profile of(String name, String description, ConfigObject written, Stages stages) {
    return new Profile(name, description, written, stages, null, stages.preparation());
  }

  static Profile of(String name, String description, ConfigObject written, Composition composition) {
    return new Profile(name, description, written, null, composition, composition.preparation());
  }

  /** What a profile of stages is made of. */
  record Stages(
      List<PluginUse<Preparer>> preparers,
      List<PluginUse<Filter>> filters,
      List<PluginUse<Scorer>> scorers,
      PluginUse<Picker> picker,
      PluginUse<ExecutionPolicy> executionPolicy,
      @Nullable Profile otherwise) {
    Stages {
      preparers = List.copyOf(preparers);
      filters = List.copyOf(filters);
      scorers = List.copyOf(scorers);
    }

    private PreparerStage preparation() {
      Set<Slot<?>> read = new HashSet<>();
      uses().filter(use -> use.stage() != Stage.PREPARE).forEach(use -> read.addAll(use.proven().reads()));
      PreparerStage own = new PreparerStage(preparers.stream().map(PluginUse::make).toList(), read);
      return otherwise == null ? own : PreparerStage.of(List.of(own, otherwise.preparerStage));
    }

    private Stream<PluginUse<?>> uses() {
      return Stream.of(preparers, filters, scorers, List.of(picker), List.of(executionPolicy)).flatMap(List::stream);
    }
  }

  /** What a profile of profiles is made of: who decides each step, and how the steps come together. */
  record Composition(WorkflowType.Composer composer, SequencedMap<String, Profile> parts) {
    private Profile part(String step) {
      Profile part = parts.get(step);
      if (part == null) {
        throw new IllegalArgumentException("the workflow's type has no part \"" + step + "\"");
      }
      return part;
    }

    private PreparerStage preparation() {
      return PreparerStage.of(parts.values().stream().map(part -> part.preparerStage).toList());
    }
  }

  /** Its name: lower case, digits and hyphens, at most 40 characters, so safe in headers and labels. */
  public String name() {
    return name;
  }

  /** What it does, in the words of its author. */
  public String description() {
    return description;
  }

  /**
   * How it decides which workers a request takes, for one fleet.
   *
   * @param selectors makes a selector of a profile of stages
   * @param metrics where it counts
   */
  public Workflow workflow(Function<Profile, Selector> selectors, RoutingMetrics metrics) {
    return composition == null
        ? new SingleWorkflow(selectors.apply(this))
        : composition.composer.compose(name, step -> selectors.apply(composition.part(step)), metrics);
  }

  /** The profiles of stages that decide its steps, by the steps' names; none when it has stages itself. */
  public SequencedMap<String, Profile> steps() {
    return composition == null ? new LinkedHashMap<>() : Collections.unmodifiableSequencedMap(composition.parts);
  }

  /** The profile that decides when this one's scorers do not know what they go by; null when there is none. */
  public @Nullable Profile otherwise() {
    return stages == null ? null : stages.otherwise;
  }

  /** This profile and all that may decide in its place or for one of its steps, this one first. */
  public Stream<Profile> reachableProfiles() {
    Profile other = otherwise();
    Stream<Profile> others = other == null ? steps().values().stream() : Stream.of(other);
    return Stream.concat(Stream.of(this), others.flatMap(Profile::reachableProfiles));
  }

  /** The failure policy and resumes of plans with one worker. */
  ExecutionPolicy executionPolicy() {
    return stages().executionPolicy.proven();
  }

  /** How often a stream that its worker cut is continued by another, as the profile says that decides the last step. */
  public int resumes() {
    return composition == null
        ? stages().executionPolicy.proven().resumes()
        : composition.parts.lastEntry().getValue().resumes();
  }

  /** Its plugins, in the order they run; none when it is made of profiles. */
  public List<PluginInfo> parts() {
    return stages == null ? List.of() : stages.uses().map(PluginUse::part).toList();
  }

  private Stages stages() {
    if (stages == null) {
      throw new IllegalStateException("profile \"" + name + "\" is made of profiles");
    }
    return stages;
  }

  /** Whether {@link #prepare} finds out anything that somebody asks for: a request that it does not can skip it. */
  public boolean preparesOnArrival() {
    return preparerStage.isUseful();
  }

  /**
   * Prepares a request on the node where it arrived. May wait, as long as its preparers do.
   *
   * @param context with {@link Slots#FACTS}, tokens and chain
   * @return what crosses to the request's cell
   * @throws InvalidRoutingHintException when the client says something of its routing that makes no sense
   */
  public PreparedSlots prepare(RoutingContext context) {
    return preparerStage.prepare(context);
  }

  /** Fills what preparers should have filled and did not. Never waits. */
  void fillMissing(RoutingContext context) {
    preparerStage.fillMissing(context);
  }

  /** Whether the other is composed of the same plugins with the same parameters, and is named and described alike. */
  boolean hasSameSource(Profile other) {
    return name.equals(other.name)
        && source.equals(other.source)
        && stepsAreWrittenAs(other)
        && otherwiseIsWrittenAs(other);
  }

  private boolean otherwiseIsWrittenAs(Profile other) {
    Profile mine = otherwise();
    Profile theirs = other.otherwise();
    return mine == null ? theirs == null : theirs != null && mine.hasSameSource(theirs);
  }

  private boolean stepsAreWrittenAs(Profile other) {
    List<Profile> mine = List.copyOf(steps().values());
    List<Profile> others = List.copyOf(other.steps().values());
    return mine.size() == others.size()
        && IntStream.range(0, mine.size()).allMatch(i -> mine.get(i).hasSameSource(others.get(i)));
  }

  Filter[] filters() {
    return stages().filters.stream().map(PluginUse::make).toArray(Filter[]::new);
  }

  List<String> filterNames() {
    return stages().filters.stream().map(PluginUse::name).toList();
  }

  ScoreSum scores() {
    return new ScoreSum(
        stages().scorers.stream()
            .map(use -> new ScoreSum.Term(use.name, use.make(), use.weight, use.normalisation))
            .toList());
  }

  Picker picker() {
    return stages().picker.make();
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
   * @param place where the configuration mentions it
   * @param parameters those that are written, with their values as plain objects
   * @param weight a scorer's weight, 1 for others
   * @param normalise how a scorer's numbers are brought to a common scale: {@code none} or {@code min-max}
   * @param reads names of the slots it reads
   * @param writes names of the slots it fills
   */
  public record PluginInfo(
      Stage stage,
      String plugin,
      ConfigPlace place,
      Map<String, Object> parameters,
      double weight,
      String normalise,
      List<String> reads,
      List<String> writes) {}

  /** One mention of a plugin; weight and normalisation matter to scorers. */
  record PluginUse<P extends Plugin>(
      String name,
      Stage stage,
      ConfigPlace place,
      P proven,
      Function<Parameters, ? extends Plugin> factory,
      Class<P> kind,
      ConfigObject parameters,
      double weight,
      ScoreSum.Normalisation normalisation) {
    P make() {
      return kind.cast(factory.apply(new Parameters(parameters, null)));
    }

    PluginInfo part() {
      return new PluginInfo(
          stage,
          name,
          place,
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

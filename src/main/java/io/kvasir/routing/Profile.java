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
 * A compiled profile: a named composition of plugins that has been checked for consistency, or a workflow whose steps
 * are decided by such profiles. Every {@link Selector} gets filters, scorers and picker of its own, since some keep
 * state of one fleet; preparers belong to the profile. Immutable.
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
      ConfigObject source,
      @Nullable Stages stages,
      @Nullable Composition composition,
      PreparerStage preparerStage) {
    this.name = name;
    this.description = description;
    this.source = source;
    this.stages = stages;
    this.composition = composition;
    this.preparerStage = preparerStage;
  }

  static Profile of(String name, String description, ConfigObject source, Stages stages) {
    return new Profile(name, description, source, stages, null, stages.preparerStage());
  }

  static Profile of(String name, String description, ConfigObject source, Composition composition) {
    return new Profile(name, description, source, null, composition, composition.preparerStage());
  }

  /** The plugins of a profile by stage. */
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

    private PreparerStage preparerStage() {
      Set<Slot<?>> read = new HashSet<>();
      uses().filter(use -> use.stage() != Stage.PREPARE).forEach(use -> read.addAll(use.proven().reads()));
      PreparerStage own = new PreparerStage(preparers.stream().map(PluginUse::make).toList(), read);
      return otherwise == null ? own : PreparerStage.of(List.of(own, otherwise.preparerStage));
    }

    private Stream<PluginUse<?>> uses() {
      return Stream.of(preparers, filters, scorers, List.of(picker), List.of(executionPolicy)).flatMap(List::stream);
    }
  }

  /** The profiles that decide a workflow's steps, by step, and the workflow's factory. */
  record Composition(WorkflowType.Composer composer, SequencedMap<String, Profile> parts) {
    private Profile part(String step) {
      Profile part = parts.get(step);
      if (part == null) {
        throw new IllegalArgumentException("the workflow's type has no part \"" + step + "\"");
      }
      return part;
    }

    private PreparerStage preparerStage() {
      return PreparerStage.of(parts.values().stream().map(part -> part.preparerStage).toList());
    }
  }

  /**
   * The name: lower-case letters, digits and hyphens, at most 40 characters, so that headers and labels can have it.
   */
  public String name() {
    return name;
  }

  /** The description from the configuration, empty when there is none. */
  public String description() {
    return description;
  }

  /** The settings that are otherwise than in the profile of this name that ships; null when none of this name does. */
  public @Nullable List<SettingDifference> differences() {
    return ShippedProfiles.differences(name, source);
  }

  /**
   * A workflow that plans requests by this profile, for one fleet.
   *
   * @param selectors makes the selector of a profile of stages
   * @param metrics counters of plans
   */
  public Workflow workflow(Function<Profile, Selector> selectors, RoutingMetrics metrics) {
    return composition == null
        ? new SingleWorkflow(selectors.apply(this))
        : composition.composer.compose(name, step -> selectors.apply(composition.part(step)), metrics);
  }

  /** The profiles that decide the workflow's steps, by step name; empty for a profile of stages. */
  public SequencedMap<String, Profile> steps() {
    return composition == null ? new LinkedHashMap<>() : Collections.unmodifiableSequencedMap(composition.parts);
  }

  /** The profile that decides when scorers of this one lack their inputs; null when there is none. */
  public @Nullable Profile otherwise() {
    return stages == null ? null : stages.otherwise;
  }

  /** This profile, then all profiles that may decide in its place or for one of its steps. */
  public Stream<Profile> reachableProfiles() {
    Profile other = otherwise();
    Stream<Profile> others = other == null ? steps().values().stream() : Stream.of(other);
    return Stream.concat(Stream.of(this), others.flatMap(Profile::reachableProfiles));
  }

  /** The failure policy and resumes of plans with one worker. */
  ExecutionPolicy executionPolicy() {
    return stages().executionPolicy.proven();
  }

  /** How often, at most, another worker continues a stream that its worker cut; that of the last step's profile. */
  public int resumes() {
    return composition == null
        ? stages().executionPolicy.proven().resumes()
        : composition.parts.lastEntry().getValue().resumes();
  }

  /** The plugins, in the order they run; empty for a profile of a workflow. */
  public List<PluginInfo> parts() {
    return stages == null ? List.of() : stages.uses().map(PluginUse::info).toList();
  }

  private Stages stages() {
    if (stages == null) {
      throw new IllegalStateException("profile \"" + name + "\" has a workflow and no stages");
    }
    return stages;
  }

  /** Whether {@link #prepare} fills a slot that is transferred to the cell; otherwise requests can skip it. */
  public boolean preparesOnArrival() {
    return preparerStage.preparesOnArrival();
  }

  /**
   * Prepares a request on the node where it arrived. Waits as long as its preparers do.
   *
   * @param context with {@link Slots#FACTS}, tokens and chain
   * @return the slots to transfer to the request's cell
   * @throws InvalidRoutingHintException when a routing hint of the client is invalid
   */
  public PreparedSlots prepare(RoutingContext context) {
    return preparerStage.prepare(context);
  }

  /** Fills the slots that preparers have not filled where the request arrived. Never waits. */
  void fillMissing(RoutingContext context) {
    preparerStage.fillMissing(context);
  }

  /** Whether the other profile has the same name and the same source, profiles that it refers to included. */
  boolean hasSameSource(Profile other) {
    return name.equals(other.name)
        && source.equals(other.source)
        && hasSameSteps(other)
        && hasSameOtherwise(other);
  }

  private boolean hasSameOtherwise(Profile other) {
    Profile mine = otherwise();
    Profile theirs = other.otherwise();
    return mine == null ? theirs == null : theirs != null && mine.hasSameSource(theirs);
  }

  private boolean hasSameSteps(Profile other) {
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
   * A plugin of a profile, for operators.
   *
   * @param stage the plugin's stage
   * @param plugin the plugin's name
   * @param place file and line of the configuration that mention it
   * @param parameters the configured parameters, with their values as plain objects
   * @param weight a scorer's weight, 1 for others
   * @param normalise how a scorer's scores are normalised: {@code none} or {@code min-max}
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

  /** A plugin that a profile mentions, with its parameters; weight and normalisation are a scorer's. */
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

    PluginInfo info() {
      return new PluginInfo(
          stage,
          name,
          place,
          parameters.unwrapped(),
          weight,
          Parameters.configName(normalisation),
          names(proven.reads()),
          names(proven.writes()));
    }

    private static List<String> names(Set<Slot<?>> slots) {
      return slots.stream().map(Slot::name).sorted().toList();
    }
  }
}

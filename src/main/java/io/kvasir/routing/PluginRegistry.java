package io.kvasir.routing;

import com.typesafe.config.ConfigFactory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The registry of plugins and workflows that profiles may name. Immutable. */
public final class PluginRegistry {
  private final Map<Stage, Map<String, PluginType<?>>> types = new EnumMap<>(Stage.class);
  private final Map<String, WorkflowType> workflows = new TreeMap<>();

  /**
   * A registry of the given plugins and workflows.
   *
   * @throws IllegalArgumentException when two plugins of a stage, or two workflows, have one name
   */
  public PluginRegistry(Collection<PluginType<?>> plugins, Collection<WorkflowType> workflowTypes) {
    for (Stage stage : Stage.values()) {
      types.put(stage, new TreeMap<>());
    }
    for (PluginType<?> type : plugins) {
      if (of(type.stage()).put(type.name(), type) != null) {
        throw new IllegalArgumentException(
            "there are two plugins named \"" + type.name() + "\" for stage " + type.stage().key());
      }
    }
    for (WorkflowType type : workflowTypes) {
      if (workflows.put(type.name(), type) != null) {
        throw new IllegalArgumentException("there are two workflows named \"" + type.name() + "\"");
      }
    }
  }

  /** This registry and one more workflow. */
  public PluginRegistry plus(WorkflowType workflow) {
    List<WorkflowType> more = new ArrayList<>(workflows.values());
    more.add(workflow);
    return new PluginRegistry(types.values().stream().flatMap(stage -> stage.values().stream()).toList(), more);
  }

  @Nullable WorkflowType workflow(String name) {
    return workflows.get(name);
  }

  Collection<String> workflows() {
    return workflows.keySet();
  }

  /**
   * This registry and one more plugin.
   *
   * @throws IllegalArgumentException when the name is taken
   */
  public PluginRegistry plus(PluginType<?> plugin) {
    List<PluginType<?>> all = new ArrayList<>();
    types.values().forEach(stage -> all.addAll(stage.values()));
    all.add(plugin);
    return new PluginRegistry(all, workflows.values());
  }

  @Nullable PluginType<?> find(Stage stage, String name) {
    return of(stage).get(name);
  }

  /** The plugins of a stage, by name. */
  Collection<PluginType<?>> types(Stage stage) {
    return of(stage).values();
  }

  Collection<String> names(Stage stage) {
    return of(stage).keySet();
  }

  /** The stage of the plugin with that name, null when there is none. */
  @Nullable Stage stageOf(String name) {
    for (Stage stage : Stage.values()) {
      if (of(stage).containsKey(name)) {
        return stage;
      }
    }
    return null;
  }

  /** Names of the plugins that fill a slot when they are made with default parameters. */
  List<String> writersOf(Slot<?> slot) {
    return types.values().stream()
        .flatMap(stage -> stage.values().stream())
        .filter(type -> writes(type, slot))
        .map(PluginType::name)
        .toList();
  }

  private static boolean writes(PluginType<?> type, Slot<?> slot) {
    try {
      return type.make().apply(new Parameters(ConfigFactory.empty().root(), null)).writes().contains(slot);
    } catch (RuntimeException | LinkageError parametersRequired) {
      return false;
    }
  }

  private Map<String, PluginType<?>> of(Stage stage) {
    Map<String, PluginType<?>> plugins = types.get(stage);
    if (plugins == null) {
      throw new IllegalStateException("every stage has its plugins");
    }
    return plugins;
  }
}

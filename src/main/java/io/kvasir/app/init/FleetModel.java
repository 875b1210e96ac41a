package io.kvasir.app.init;

import io.kvasir.app.node.StartException;
import io.kvasir.engines.ModelSearch;
import io.kvasir.engines.ModelSearch.Found;
import io.kvasir.engines.PromptBlocks;
import io.kvasir.engines.ServedModel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A model that engines serve, as {@code kvasir.models} describes it.
 *
 * @param name as requests call it
 * @param adapters its LoRA adapters, of all engines
 * @param blockSize tokens in a KV block of its prompts, null where no engine tells
 * @param files where its tokenizer is, null when it is not on this machine
 * @param tokenizers the pods that would tokenise its prompts by {@code /tokenize}
 */
record FleetModel(
    String name,
    Set<String> adapters,
    @Nullable Integer blockSize,
    @Nullable Found files,
    List<String> tokenizers) {

  /**
   * The models of a fleet, in the order in which the engines name them.
   *
   * @throws StartException when engines with one model differ where they may not
   */
  static List<FleetModel> of(List<FleetEngine> engines, ModelSearch files) throws StartException {
    Map<String, List<FleetEngine>> servers = new LinkedHashMap<>();
    for (FleetEngine engine : engines) {
      for (ServedModel model : engine.description().baseModels()) {
        servers.computeIfAbsent(model.name(), _ -> new ArrayList<>()).add(engine);
      }
    }
    List<FleetModel> models = new ArrayList<>();
    for (Map.Entry<String, List<FleetEngine>> model : servers.entrySet()) {
      models.add(of(model.getKey(), model.getValue(), files, servers.size() == 1));
    }
    return models;
  }

  private static FleetModel of(String name, List<FleetEngine> servers, ModelSearch files, boolean onlyModel)
      throws StartException {
    Set<String> adapters = new LinkedHashSet<>();
    Optional<Found> found = Optional.empty();
    Optional<Found> bundled = Optional.empty();
    for (FleetEngine server : servers) {
      for (ServedModel model : server.description().models()) {
        if (model.name().equals(name) && found.isEmpty()) {
          found = files.find(model, onlyModel, server.description().identity().simulated());
        }
      }
      if (bundled.isEmpty()) {
        bundled = ModelSearch.bundled(server.description(), server.tokens());
      }
      adapters.addAll(server.surveyed().adaptersOf(name));
    }
    return new FleetModel(
        name, adapters, blockSize(name, servers), (found.isPresent() ? found : bundled).orElse(null),
        servers.stream().filter(server -> server.tokens().serve()).map(FleetEngine::name).toList());
  }

  private static @Nullable Integer blockSize(String name, List<FleetEngine> servers) throws StartException {
    NavigableMap<Integer, Set<String>> sizes = new TreeMap<>();
    for (FleetEngine server : servers) {
      Integer told = server.description().cache().blockSize();
      if (told != null) {
        sizes.computeIfAbsent(told, _ -> new TreeSet<>()).add(server.description().url().toString());
      }
    }
    if (sizes.isEmpty()) {
      return null;
    }
    Integer shared = PromptBlocks.shared(sizes.navigableKeySet());
    if (shared == null) {
      throw new StartException(
          "the engines with " + name + " have KV blocks of different sizes, of which the smallest does not fit into"
              + " the others, or is too small for them: " + sizes + " (tokens={engines}); start them with another"
              + " --block-size (SGLang: --page-size), or give each kind to a router of its own");
    }
    return shared;
  }
}

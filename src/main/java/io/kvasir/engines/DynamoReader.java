package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads the pages of Dynamo's frontend (Dynamo, {@code lib/llm/src/http/service/openai.rs}, {@code health.rs} and
 * {@code metrics.rs}): its models with their contexts, and the gauges {@code dynamo_frontend_model_*} with what the
 * workers of a model told when they registered. LoRA adapters are models among others there.
 */
final class DynamoReader implements PageReader {
  private static final String GAUGES = "dynamo_frontend_model_";

  @Override
  public EngineDescription read(EnginePages pages, String metrics) {
    Map<String, Map<String, Integer>> gauges = gauges(metrics);
    Map<String, Integer> contexts = new HashMap<>();
    pages.models().path("data").forEach(model -> put(contexts, model, "context_window"));
    List<ServedModel> models =
        pages.servedModels().stream()
            .map(model -> new ServedModel(model.name(), null, null, contexts.get(model.name()), null))
            .toList();
    Set<Integer> blockSizes = new TreeSet<>();
    Integer blocks = null;
    for (ServedModel model : models) {
      Map<String, Integer> own = gauges.getOrDefault(key(model.name()), Map.of());
      Optional.ofNullable(own.get("kv_cache_block_size")).ifPresent(blockSizes::add);
      blocks = more(blocks, ofAllWorkers(own));
    }
    Integer blockSize = blockSizes.size() == 1 ? blockSizes.iterator().next() : null;
    return new EngineDescription(
        pages.url(), pages.identity(), models, new CacheDescription(blockSize, blocks, null, null, null, null),
        new EventPublishing.Withheld(), new LoadPublishing.Untold(), null, unknowns(blockSizes, blocks));
  }

  private static List<Unknown> unknowns(Set<Integer> blockSizes, @Nullable Integer blocks) {
    List<Unknown> unknowns = new ArrayList<>();
    if (blockSizes.isEmpty()) {
      unknowns.add(new Unknown("block size", "Let the router reach its /metrics while a worker is registered; or set"
          + " models[].block-size as the workers' --block-size."));
    } else if (blockSizes.size() > 1) {
      unknowns.add(new Unknown("block size", "Its models have blocks of " + blockSizes.stream().map(String::valueOf)
          .collect(Collectors.joining(" and ")) + " tokens: set models[].block-size of each."));
    }
    if (blocks == null) {
      unknowns.add(new Unknown("number of KV blocks", "Set capacity-blocks of the pod to those of all its workers."));
    }
    return unknowns;
  }

  /** The gauges of each model, whose name is in small letters there. */
  private static Map<String, Map<String, Integer>> gauges(String metrics) {
    Map<String, Map<String, Integer>> models = new HashMap<>();
    for (String line : metrics.lines().filter(line -> line.startsWith(GAUGES)).toList()) {
      int labels = line.indexOf('{');
      String model = CacheMetrics.labels(line).get("model");
      Integer value = value(line);
      if (labels > 0 && model != null && value != null) {
        models.computeIfAbsent(key(model), _ -> new HashMap<>())
            .merge(line.substring(GAUGES.length(), labels), value, Math::max);
      }
    }
    return models;
  }

  private static @Nullable Integer value(String line) {
    String value = line.substring(line.lastIndexOf('}') + 1).strip();
    return value.matches("[1-9]\\d{0,8}(\\.0+)?") ? Integer.valueOf(value.replaceFirst("\\..*", "")) : null;
  }

  /** Blocks of all workers of a model: each told its own. */
  private static @Nullable Integer ofAllWorkers(Map<String, Integer> model) {
    Integer blocks = model.get("total_kv_blocks");
    return blocks == null
        ? null
        : Integer.valueOf((int) Math.min(Integer.MAX_VALUE, (long) blocks * model.getOrDefault("workers", 1)));
  }

  private static @Nullable Integer more(@Nullable Integer one, @Nullable Integer other) {
    return one == null || other == null ? one == null ? other : one : Integer.valueOf(Math.max(one, other));
  }

  private static void put(Map<String, Integer> counts, JsonNode model, String field) {
    Integer count = EnginePages.count(model.path(field));
    String name = model.path("id").textValue();
    if (count != null && name != null) {
      counts.put(name, count);
    }
  }

  private static String key(String model) {
    return model.toLowerCase(Locale.ROOT);
  }
}

package io.kvasir.app.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigSyntax;
import io.kvasir.routing.ConfigPlace;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Translates settings in the admin API's spelling, {@code bootstrap_port}, to that of configuration files, {@code
 * bootstrap-port}; both are accepted.
 */
public final class AdminJsonConfig {
  private AdminJsonConfig() {}

  /** A pod's description as an entry of the configuration's pods. */
  public static Config pod(ObjectNode described) {
    return configuration("pod", described, new ArrayList<>()).getConfig("pod");
  }

  /**
   * A member of a request to the admin API as a configuration that has it under the same key.
   *
   * @param faults takes the fault of a setting that is given in both spellings
   */
  static Config configuration(String key, JsonNode given, List<ConfigFault> faults) {
    ObjectNode whole = JsonNodeFactory.instance.objectNode();
    whole.set(key, respelt(given, key, faults));
    return ConfigFactory.parseString(
        whole.toString(), ConfigParseOptions.defaults().setSyntax(ConfigSyntax.JSON));
  }

  /** Reports faults in the admin API's spelling. */
  static void report(List<ConfigFault> faults, BiConsumer<String, String> onFault) {
    faults.forEach(fault -> onFault.accept(fault.path().replace('-', '_'), fault.problem()));
  }

  private static JsonNode respelt(JsonNode given, String path, List<ConfigFault> faults) {
    if (given.isArray()) {
      ArrayNode list = JsonNodeFactory.instance.arrayNode();
      for (int i = 0; i < given.size(); i++) {
        list.add(respelt(given.get(i), path + "[" + i + "]", faults));
      }
      return list;
    }
    if (!given.isObject()) {
      return given;
    }
    ObjectNode respelt = JsonNodeFactory.instance.objectNode();
    for (Map.Entry<String, JsonNode> member : given.properties()) {
      String name = member.getKey().replace('_', '-');
      String at = path + "." + name;
      if (respelt.has(name)) {
        String problem = "is given twice, as " + name + " and " + name.replace('-', '_');
        faults.add(new ConfigFault(ConfigPlace.UNKNOWN, at, problem));
      }
      respelt.set(name, respelt(member.getValue(), at, faults));
    }
    return respelt;
  }
}

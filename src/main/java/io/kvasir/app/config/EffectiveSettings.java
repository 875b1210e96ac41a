package io.kvasir.app.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigOrigin;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import io.kvasir.gateway.admin.ConfigHandler.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The settings of a configuration one by one, in the order of their names, with the place each comes from. */
public final class EffectiveSettings {
  private static final String ROOT = "kvasir";
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Settings of {@code kvasir.routing} that wait for a restart; the others may have been reloaded. */
  private static final List<String> STARTED = List.of("kvasir.routing.plugin-path", "kvasir.routing.reload-interval");

  private final List<Setting> settings = new ArrayList<>();

  private EffectiveSettings() {}

  /**
   * What is in effect on a node.
   *
   * @param started what it was started with
   * @param reloaded what its profiles were read from last
   */
  public static List<Setting> of(Config started, Config reloaded) {
    Config now = started.withValue("kvasir.routing", reloaded.getValue("kvasir.routing"));
    for (String path : STARTED) {
      now = now.withValue(path, started.getValue(path));
    }
    EffectiveSettings effective = new EffectiveSettings();
    effective.add(ROOT, now.getValue(ROOT));
    return effective.settings;
  }

  private void add(String path, ConfigValue value) {
    if (value instanceof ConfigObject object && !object.isEmpty()) {
      Map<String, ConfigValue> members = new TreeMap<>(object);
      members.forEach((name, member) -> add(path + "." + quoted(name), member));
    } else if (value instanceof ConfigList list && holdsSections(list)) {
      for (int i = 0; i < list.size(); i++) {
        add(path + "[" + i + "]", list.get(i));
      }
    } else {
      JsonNode shown = JSON.valueToTree(value.unwrapped());
      settings.add(new Setting(path, shown, source(value.origin()), from(value.origin())));
    }
  }

  private static boolean holdsSections(ConfigList list) {
    return list.stream().anyMatch(
        each -> Set.of(ConfigValueType.OBJECT, ConfigValueType.LIST).contains(each.valueType()));
  }

  private static String quoted(String name) {
    return name.matches("[A-Za-z0-9_-]+") ? name : ConfigUtil.quoteString(name);
  }

  private static Source source(ConfigOrigin origin) {
    return origin.resource() != null ? Source.DEFAULT
        : origin.filename() != null ? Source.FILE
        : origin.description().startsWith("env var") ? Source.ENVIRONMENT
        : Source.COMMAND;
  }

  private static String from(ConfigOrigin origin) {
    return switch (source(origin)) {
      case DEFAULT -> origin.resource() + ":" + origin.lineNumber();
      case FILE, ENVIRONMENT, COMMAND -> ConfigSection.place(origin).toString();
    };
  }
}

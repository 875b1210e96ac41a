package io.kvasir.routing;

import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The profiles that ship: the files of {@code conf/profiles}, which the build puts on the class path. */
public final class ShippedProfiles {
  private static final ConfigObject ALL =
      ConfigFactory.parseResources(
          ShippedProfiles.class.getClassLoader(),
          "profiles/built-in.conf",
          ConfigParseOptions.defaults().setAllowMissing(false))
          .root();

  private ShippedProfiles() {}

  /** Their names. */
  public static Set<String> names() {
    return Collections.unmodifiableSet(ALL.keySet());
  }

  /** All of them, by name. */
  static ConfigObject all() {
    return ALL;
  }

  /**
   * What in a profile is otherwise than in the one of its name that ships, by the settings' paths; null when none of
   * that name does.
   */
  static @Nullable List<SettingDifference> differences(String profile, ConfigObject source) {
    if (!(ALL.get(profile) instanceof ConfigObject shipped)) {
      return null;
    }
    List<SettingDifference> differences = new ArrayList<>();
    compare("", shipped, source, differences);
    return differences;
  }

  private static void compare(
      String prefix, ConfigObject shipped, ConfigObject own, List<SettingDifference> differences) {
    TreeSet<String> keys = new TreeSet<>(shipped.keySet());
    keys.addAll(own.keySet());
    for (String key : keys) {
      String setting = prefix + ConfigUtil.joinPath(key);
      ConfigValue before = shipped.get(key);
      ConfigValue now = own.get(key);
      if (before instanceof ConfigObject beforeParts && now instanceof ConfigObject nowParts) {
        compare(setting + ".", beforeParts, nowParts, differences);
      } else if (!Objects.equals(before, now)) {
        differences.add(new SettingDifference(setting, unwrapped(before), unwrapped(now)));
      }
    }
  }

  private static @Nullable Object unwrapped(@Nullable ConfigValue value) {
    return value == null ? null : value.unwrapped();
  }
}

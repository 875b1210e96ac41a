package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigIncluder;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigResolveOptions;
import io.kvasir.routing.ConfigPlace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Parses configuration files and lays them over the defaults. */
public final class ConfigFiles {
  private ConfigFiles() {}

  /** Parses an operator's file with what it includes, unresolved. */
  public static Config parse(Path file) throws ConfigException {
    return parse(file, new IncludedFiles(file));
  }

  /** The same; what it includes is read by way of this. */
  static Config parse(Path file, ConfigIncluder included) throws ConfigException {
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      String why =
          Files.isDirectory(file)
              ? "is a directory; name a file"
              : "cannot be read; does it exist, and may you read it?";
      throw new ConfigException(List.of(new ConfigFault(ConfigPlace.UNKNOWN, file.toString(), why)));
    }
    try {
      // Absolute: the includes of a file without a directory would not be found.
      return ConfigFactory.parseFile(
          file.toAbsolutePath().toFile(),
          ConfigParseOptions.defaults().setAllowMissing(false).prependIncluder(included));
    } catch (com.typesafe.config.ConfigException malformed) {
      throw unreadable(malformed);
    }
  }

  /** Lays a configuration over the defaults of {@code conf} and over the platform's settings, and resolves it. */
  static Config withDefaults(Config own) throws ConfigException {
    return resolved(own, ConfigResolveOptions.defaults());
  }

  /** The same, but variables of the environment are as good as not set. */
  static Config withoutEnvironment(Config own) throws ConfigException {
    return resolved(own, ConfigResolveOptions.noSystem());
  }

  private static Config resolved(Config own, ConfigResolveOptions options) throws ConfigException {
    ClassLoader loader = ConfigFiles.class.getClassLoader();
    try {
      return own.withFallback(ConfigFactory.parseResources(loader, "kvasir.conf"))
          .withFallback(ConfigFactory.parseResources(loader, "platform.conf"))
          .withFallback(ConfigFactory.defaultReferenceUnresolved(loader))
          .resolve(options);
    } catch (com.typesafe.config.ConfigException malformed) {
      throw unreadable(malformed);
    }
  }

  /** An operator's file over what a command gives and over the defaults, resolved. */
  static FileReading load(Path file, Config given) {
    return FileReading.of(file, (path, included) -> withDefaults(parse(path, included).withFallback(given)));
  }

  private static ConfigException unreadable(com.typesafe.config.ConfigException malformed) {
    ConfigPlace place =
        malformed.origin() == null ? ConfigPlace.UNKNOWN : ConfigSection.place(malformed.origin());
    return new ConfigException(List.of(new ConfigFault(place, "the file", String.valueOf(malformed.getMessage()))));
  }
}

package io.kvasir.app.config;

import io.kvasir.routing.ConfigPlace;
import io.kvasir.routing.PluginProvider;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.PluginType;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The plugins in the jars of the plugin path, each jar with a class loader of its own. The jars stay open as long as
 * their plugins may be used, so they are not to be replaced under a running node. Owns the class loaders. Logs nothing:
 * a configuration is read before logging is configured.
 */
public final class PluginJars implements AutoCloseable {
  private static final String SERVICE = "META-INF/services/" + PluginProvider.class.getName();

  private final ClassLoader visible = new FilteringClassLoader();
  private final List<URLClassLoader> loaders = new ArrayList<>();
  private final List<LoadedPlugin> plugins = new ArrayList<>();
  private final List<ConfigFault> faults = new ArrayList<>();

  /**
   * A plugin and the jar it came from.
   *
   * @param type the plugin
   * @param jar the jar
   */
  public record LoadedPlugin(PluginType<?> type, Path jar) {}

  /**
   * Opens every jar of a path. Jars with a fault have no plugins.
   *
   * @param path jars, and directories of jars
   */
  public PluginJars(List<Path> path) {
    for (Path entry : path) {
      if (Files.isDirectory(entry)) {
        jarsOf(entry).forEach(this::open);
      } else if (Files.isRegularFile(entry)) {
        open(entry);
      } else {
        fault(entry, "there is no such jar or directory; create it, or take it off the path");
      }
    }
  }

  /** All plugins with the jars they came from. */
  public List<LoadedPlugin> plugins() {
    return List.copyOf(plugins);
  }

  /** Faults of the path and its jars. */
  public List<ConfigFault> faults() {
    return List.copyOf(faults);
  }

  /** A registry with these plugins as well; one whose name is taken is left out and becomes a fault. */
  public PluginRegistry addTo(PluginRegistry others) {
    PluginRegistry registry = others;
    for (LoadedPlugin loaded : plugins) {
      try {
        registry = registry.plus(loaded.type());
      } catch (IllegalArgumentException taken) {
        fault(loaded.jar(), taken.getMessage() + "; rename this jar's");
      }
    }
    return registry;
  }

  private List<Path> jarsOf(Path directory) {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    } catch (IOException unreadable) {
      fault(directory, "cannot be listed: " + unreadable.getMessage() + "; may you read it?");
      return List.of();
    }
  }

  private void open(Path jar) {
    if (!declares(jar)) {
      return;
    }
    try {
      URLClassLoader loader =
          new URLClassLoader("plugins of " + jar.getFileName(), new URL[] {jar.toUri().toURL()},
              visible);
      loaders.add(loader);
      for (PluginProvider provider : ServiceLoader.load(PluginProvider.class, loader)) {
        for (PluginType<?> type : provider.plugins()) {
          plugins.add(new LoadedPlugin(type, jar));
        }
      }
    } catch (ServiceConfigurationError | RuntimeException | LinkageError | IOException broken) {
      fault(jar, inPlainWords(broken));
    }
  }

  private boolean declares(Path jar) {
    try (JarFile opened = new JarFile(jar.toFile())) {
      if (opened.getEntry(SERVICE) != null) {
        return true;
      }
      fault(jar, "names no plugins: it has no " + SERVICE + " with the name of its provider's class");
    } catch (IOException damaged) {
      fault(jar, "is no jar, or a damaged one: " + damaged.getMessage() + "; build or copy it again");
    }
    return false;
  }

  private static String inPlainWords(Throwable broken) {
    Throwable root = broken;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return switch (root) {
      case UnsupportedClassVersionError newer ->
          "was compiled for a newer Java than this one, %d: %s; compile it with --release %d"
              .formatted(Runtime.version().feature(), newer.getMessage(), Runtime.version().feature());
      case ClassFormatError damaged -> "has a damaged class: " + damaged.getMessage() + "; build it again";
      case ClassNotFoundException missing -> lacks(String.valueOf(missing.getMessage()));
      case NoClassDefFoundError missing -> lacks(String.valueOf(missing.getMessage()));
      case NoSuchMethodError other -> otherVersion(other);
      case AbstractMethodError other -> otherVersion(other);
      case NoSuchMethodException none ->
          "its provider has no public constructor without parameters: " + none.getMessage();
      case ServiceConfigurationError error -> "its provider cannot be used: " + error.getMessage();
      default -> "its provider failed: " + root;
    };
  }

  private static String lacks(String name) {
    return "needs the class " + name.replace('/', '.')
        + ", which is neither in it nor part of what plugins see of Kvasir; put it into the jar";
  }

  private static String otherVersion(IncompatibleClassChangeError error) {
    return "was compiled for another version of Kvasir: " + error.getMessage() + "; compile it against this one";
  }

  private void fault(Path at, String problem) {
    faults.add(new ConfigFault(new ConfigPlace(at.toString(), 0), "kvasir.routing.plugin-path", problem));
  }

  @Override
  public void close() {
    for (URLClassLoader loader : loaders) {
      try {
        loader.close();
      } catch (IOException stillOpen) {
        // A jar that was only read has nothing to lose; the process closes it at its end.
      }
    }
  }

  /** What jars see of the process: the JDK, routing's public types and what their signatures name. */
  private static final class FilteringClassLoader extends ClassLoader {
    private static final List<String> PACKAGES =
        List.of("io.kvasir.routing", "io.kvasir.routing.cost", "org.slf4j", "org.jspecify.annotations");
    private static final List<String> CLASSES = List.of("io.kvasir.index.Chain");

    FilteringClassLoader() {
      super("what plugins see", ClassLoader.getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      String in = name.substring(0, Math.max(0, name.lastIndexOf('.')));
      if (PACKAGES.contains(in) || CLASSES.contains(name)) {
        return PluginJars.class.getClassLoader().loadClass(name);
      }
      throw new ClassNotFoundException(name);
    }
  }
}

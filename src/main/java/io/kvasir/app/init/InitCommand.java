package io.kvasir.app.init;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.node.StartException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir init}. */
@Command(
    name = "init",
    description = {
      "Asks running engines what they are and writes a router's configuration for them.",
      "Each value says where it was learnt; what an engine does not tell is a comment, with what would tell it.",
      "Clients need a key where there is a file keys.json beside the configuration (kvasir keys create)."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    usageHelpWidth = 110,
    footer = {
      "",
      "For example:",
      "  kvasir init http://10.0.0.5:8000 http://10.0.0.6:8000 --out my.conf",
      "Exit status: 0 written, 1 not written, 2 not understood."
    })
public final class InitCommand implements Callable<Integer> {
  @Parameters(
      arity = "1..*",
      paramLabel = "URL",
      description = {
        "The engines, such as http://10.0.0.5:8000; one that only reads prompts for others as",
        "http://10.0.0.5:8000,role=prefill, one that generates for these with role=decode, which most do not tell;",
        "vLLM with a --grpc-port that does not tell its cache events over HTTP (before 0.31) as",
        "http://10.0.0.5:8000,grpc-port=50051."
      })
  private List<String> urls = List.of();

  @Option(names = "--out", paramLabel = "FILE", description = "Where to write it; standard output unless given.")
  private @Nullable Path out;

  @Option(names = "--force", description = "Replace the file if it exists.")
  private boolean force;

  @Mixin private FleetOptions fleet = new FleetOptions();

  @Override
  public Integer call() throws StartException, ConfigException, InterruptedException {
    if (out != null && !force && Files.exists(out)) {
      throw exists(out);
    }
    LearntConfiguration learnt = fleet.learn(urls, out == null ? null : clientKeys(out));
    if (out == null) {
      System.out.print(learnt.text());
    } else {
      write(learnt.text(), out);
      learnt.summary().forEach(System.out::println);
      System.out.printf("written to %s; run it with: kvasir serve --config %s%n", out, out);
    }
    return 0;
  }

  /** Keys that lie beside the configuration are meant for it: "kvasir keys create" was told to put them there. */
  private static @Nullable Path clientKeys(Path configuration) {
    Path keys = configuration.toAbsolutePath().normalize().resolveSibling("keys.json");
    return Files.isRegularFile(keys) ? keys : null;
  }

  private void write(String configuration, Path file) throws StartException {
    try {
      if (force) {
        Files.writeString(file, configuration);
      } else {
        Files.writeString(file, configuration, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      }
    } catch (FileAlreadyExistsException meanwhile) {
      throw exists(file);
    } catch (IOException unwritable) {
      throw new StartException(
          file + " cannot be written; does its directory exist, and may you write there?", unwritable);
    }
  }

  private static StartException exists(Path file) {
    return new StartException(file + " exists; --force replaces it, --out names another");
  }
}

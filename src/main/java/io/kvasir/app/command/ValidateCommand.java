package io.kvasir.app.command;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.MemoryPlan;
import io.kvasir.app.config.OperatorFile;
import io.kvasir.app.llmd.LlmdFile;
import io.kvasir.llmd.TranslatedPart;
import io.kvasir.llmd.TranslatedPart.Verdict;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kvasir validate}. */
@Command(
    name = "validate",
    description = {
      "Checks a configuration whole and lists every fault with its file and line.",
      "With --llm-d: translates the configuration of llm-d's picker and says what became of each part."
    },
    exitCodeListHeading = "Exit status:%n",
    exitCodeList = {
      "0:valid; of an EndpointPickerConfig: every part has a counterpart, or needs none",
      "1:there are faults, all of them listed",
      "2:not understood",
      "3:translated, but some parts have no counterpart, all of them listed"
    },
    mixinStandardHelpOptions = true)
public final class ValidateCommand implements Callable<Integer> {
  private static final int LOSSES = 3;

  @ArgGroup(exclusive = true, multiplicity = "1")
  private Checked checked = new Checked();

  @Option(
      names = "--json",
      description = "With --llm-d: prints the translation and what became of each part as one JSON object.")
  private boolean json;

  @Spec private CommandSpec spec = CommandSpec.create();

  /** What is checked. */
  private static final class Checked {
    @Option(names = "--config", required = true, paramLabel = "FILE", description = "The file to check.")
    private @Nullable Path config;

    @Option(
        names = "--llm-d",
        required = true,
        paramLabel = "FILE",
        description = {
          "An EndpointPickerConfig of llm-d; what does the same in Kvasir is printed, ready to be saved as a",
          "configuration, with a comment for each part that differs or has no counterpart."
        })
    private @Nullable Path llmd;
  }

  @Override
  public Integer call() throws ConfigException {
    if (checked.llmd != null) {
      return translate(LlmdFile.read(checked.llmd));
    }
    if (json) {
      throw new ParameterException(spec.commandLine(), "--json is for --llm-d");
    }
    Path config = checked.config;
    if (config == null) {
      throw new ParameterException(spec.commandLine(), "Missing: --config FILE or --llm-d FILE");
    }
    KvasirConfig valid = KvasirConfig.load(config);
    System.out.printf(
        "%s is valid: %d models, %d pods, default profile %s%n",
        config, valid.prompts().models().size(), valid.fleet().pods().size(), valid.routing().profile());
    System.out.println(MemoryPlan.of(valid));
    OperatorFile file = valid.source().file();
    if (file != null) {
      file.missing().problem().ifPresent(problem -> System.err.println("warning: " + problem.line()));
    }
    return 0;
  }

  private int translate(LlmdFile file) throws ConfigException {
    KvasirConfig.withoutEnvironment(file.config());
    System.out.print(json ? toJson(file).toPrettyString() + "\n" : file.text());
    file.losses().forEach(System.err::println);
    System.err.println(summary(file));
    return file.translation().findings(Verdict.MISSING).isEmpty() ? 0 : LOSSES;
  }

  private static String summary(LlmdFile file) {
    return file.name() + ": "
        + Arrays.stream(Verdict.values())
            .map(verdict -> file.translation().findings(verdict).size() + " " + verdict.words())
            .collect(Collectors.joining(", "));
  }

  private static JsonNode toJson(LlmdFile file) {
    ObjectNode all = JsonNodeFactory.instance.objectNode();
    all.put("file", file.name());
    all.put("apiVersion", file.translation().apiVersion());
    all.put("profile", file.translation().profile());
    all.put("configuration", file.text());
    ArrayNode parts = all.putArray("parts");
    for (TranslatedPart finding : file.translation().findings()) {
      parts.addObject()
          .put("part", finding.part())
          .put("line", finding.line())
          .put("verdict", finding.verdict().name().toLowerCase(Locale.ROOT))
          .put("sentence", finding.sentence());
    }
    return all;
  }
}

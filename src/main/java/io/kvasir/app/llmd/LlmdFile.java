package io.kvasir.app.llmd;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.ConfigFault;
import io.kvasir.llmd.PickerTranslation;
import io.kvasir.llmd.TranslatedPart;
import io.kvasir.llmd.TranslatedPart.Verdict;
import io.kvasir.llmd.Translator;
import io.kvasir.llmd.UntranslatableException;
import io.kvasir.routing.ConfigPlace;
import io.kvasir.routing.ShippedProfiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A file of llm-d's picker, an EndpointPickerConfig, translated. Immutable.
 *
 * @param name the file's name
 * @param translation what it is in Kvasir
 */
public record LlmdFile(String name, PickerTranslation translation) {
  /**
   * Reads and translates a file.
   *
   * @throws ConfigException when it cannot be read or translated, with every reason
   */
  public static LlmdFile read(Path file) throws ConfigException {
    String text;
    try {
      text = Files.readString(file);
    } catch (IOException unreadable) {
      throw new ConfigException(
          List.of(fault(ConfigPlace.UNKNOWN, file.toString(), "cannot be read; does it exist, and may you read it?")));
    }
    return of(file.toString(), text);
  }

  /**
   * Translates a text.
   *
   * @param name where it comes from, for people
   * @throws ConfigException when it cannot be translated, with every reason
   */
  public static LlmdFile of(String name, String text) throws ConfigException {
    try {
      return new LlmdFile(name, Translator.translate(text, ShippedProfiles.names()));
    } catch (UntranslatableException refused) {
      throw new ConfigException(
          refused.faults().stream()
              .map(fault -> fault(new ConfigPlace(name, fault.line()), fault.part(), fault.problem()))
              .toList());
    }
  }

  /** The configuration that does the same, as HOCON with comments. */
  public String text() {
    return TranslationText.of(name, translation);
  }

  /** The configuration that does the same. */
  public Config config() {
    return ConfigFactory.parseString(
        text(), ConfigParseOptions.defaults().setOriginDescription("the translation of " + name));
  }

  /** What does not do the same, or nothing at all, in a line each. */
  public List<String> losses() {
    return translation.findings().stream()
        .filter(finding -> finding.verdict() == Verdict.MISSING || finding.verdict() == Verdict.SIMILAR)
        .map(this::line)
        .toList();
  }

  private String line(TranslatedPart finding) {
    return "%s: %s: %s: %s".formatted(
        new ConfigPlace(name, finding.line()), finding.part(), finding.verdict().words(), finding.sentence());
  }

  private static ConfigFault fault(ConfigPlace place, String path, String problem) {
    return new ConfigFault(place, path, problem, null);
  }
}

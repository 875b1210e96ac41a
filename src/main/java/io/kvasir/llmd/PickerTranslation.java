package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/**
 * What an EndpointPickerConfig is in Kvasir. Immutable.
 *
 * @param apiVersion the file's
 * @param profiles the profiles, steps of workflows before the workflow
 * @param profile the name of the profile that decides unless a request says otherwise
 * @param settings other settings by their paths below {@code kvasir}: texts, numbers, lists and maps
 * @param findings what became of each part, by line
 */
public record PickerTranslation(
    String apiVersion,
    List<TranslatedProfile> profiles,
    String profile,
    SequencedMap<String, Object> settings,
    List<TranslatedPart> findings) {
  /** Copies the collections. */
  public PickerTranslation {
    profiles = List.copyOf(profiles);
    settings = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(settings));
    findings = List.copyOf(findings);
  }

  /** The findings of one verdict. */
  public List<TranslatedPart> findings(Verdict verdict) {
    return findings.stream().filter(finding -> finding.verdict() == verdict).toList();
  }
}

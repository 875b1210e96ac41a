package io.kvasir.cell;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.Map;
import java.util.Set;

/**
 * A worker of the roster as every node knows it without a message to another node. {@link WorkerStatus} is what its
 * cell's home describes.
 *
 * @param id the worker's id
 * @param pod its pod's name
 * @param url the pod's base URL
 * @param models names requests may call a model by there
 * @param role what it does for a request
 * @param labels the operator's labels
 * @param draining whether it finishes what it has and gets nothing new
 * @param health as its cell's home published it last, {@link Health#UNKNOWN} until it has
 * @param losses how often it could not be reached any more, as far as its cell's home knows: another number than before
 *     tells of a loss, however short
 */
public record WorkerSummary(
    String id,
    String pod,
    URI url,
    Set<String> models,
    Role role,
    Map<String, String> labels,
    boolean draining,
    Health health,
    int losses) {}

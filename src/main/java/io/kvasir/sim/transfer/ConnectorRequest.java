package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a connector sees of a request.
 *
 * @param path the API it came through
 * @param body as the client sent it
 * @param ids the engine's id of every sequence, without the suffix that makes it unique
 * @param rank the rank the request names; null when it leaves that to the engine
 */
public record ConnectorRequest(String path, ObjectNode body, List<String> ids, @Nullable Integer rank) {}

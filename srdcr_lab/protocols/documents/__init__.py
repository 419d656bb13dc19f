"""Debates over several documents that may contradict each other, one method a module.

A map: `together` puts every document into one prompt; `agents` and `madam_rag` are debates of equals; `ra_rag` weighs
sources by their reliability; `dialectical` is thesis, antithesis, synthesis, with `structured` replies; `filtered` is
SR-DCR's verdict on each document. `reading` says what a reply answers.

No speaker is shown what kind a document is, or which source it comes from.
"""

from srdcr_lab.protocols.documents.dialectical import DIALECTICAL
from srdcr_lab.protocols.documents.filtered import SR_DCR_PER_DOCUMENT
from srdcr_lab.protocols.documents.madam_rag import MADAM_RAG
from srdcr_lab.protocols.documents.ra_rag import RA_RAG
from srdcr_lab.protocols.documents.together import CONCATENATE

DOCUMENT_METHODS = (CONCATENATE, MADAM_RAG, RA_RAG, DIALECTICAL, SR_DCR_PER_DOCUMENT)

__all__ = ["DOCUMENT_METHODS"]

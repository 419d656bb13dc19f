from .facts import SOURCES as SOURCES, reports as reports
from .items import ItemSet as ItemSet
from .load import SHIPPED as SHIPPED, YEAR_OFFSETS as YEAR_OFFSETS, check_source as check_source, load_items as load_items
from .perturbing import Perturbed as Perturbed, by_outcome as by_outcome, by_reason as by_reason, perturb as perturb
